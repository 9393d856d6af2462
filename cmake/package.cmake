# mmtune::mmtune, what an application links: the three layers without the tuner.
add_library(mmtune INTERFACE)
add_library(mmtune::mmtune ALIAS mmtune)
target_link_libraries(mmtune INTERFACE mmtune_runtime)
