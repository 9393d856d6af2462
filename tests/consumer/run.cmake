# The steps of the test; any that fails ends it. BUILD is this project's build directory, WORK a scratch one.
file(REMOVE_RECURSE ${WORK})

foreach(component runtime development)
  execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --config ${CONFIG} --component ${component}
                          --prefix ${WORK}/installed
                  COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endforeach()

# The package is found by find_package().
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G ${GENERATOR} -DCMAKE_BUILD_TYPE=${CONFIG}
                        -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_C_COMPILER=${CC}
                        -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -DCMAKE_CXX_FLAGS=${SANITIZER_FLAG}
                        -DCMAKE_C_FLAGS=${SANITIZER_FLAG} -DCMAKE_PREFIX_PATH=${WORK}/installed
                        -DCMAKE_RUNTIME_OUTPUT_DIRECTORY=${WORK}/bin
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/build --config ${CONFIG} COMMAND_ERROR_IS_FATAL ANY)
foreach(consumer consumer_static consumer_shared consumer_c)
  execute_process(COMMAND ${WORK}/bin/${consumer} WORKING_DIRECTORY ${WORK} COMMAND_ERROR_IS_FATAL ANY)
endforeach()

# The shared library shows the public functions alone, and those of C++ to programs that know its structs.
find_program(NM nm REQUIRED)
file(GLOB_RECURSE shared ${WORK}/installed/libmmtune.so)
execute_process(COMMAND ${NM} --dynamic --demangle --defined-only ${shared} OUTPUT_VARIABLE symbols
                COMMAND_ERROR_IS_FATAL ANY)
if(NOT symbols MATCHES "mmtune_open" OR symbols MATCHES "fmt::|mmtune::Store|mmtune::Library::Impl::" OR
   NOT symbols MATCHES "mmtune::Library::open[^\n]*MMTUNE_CXX_")
  message(FATAL_ERROR "${shared}: shows\n${symbols}")
endif()

# The Python package finds it, too.
if(EXISTS ${BUILD}/python AND NOT SANITIZER_FLAG)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1
                          PYTHONPATH=${WORK}/installed/lib/python3/dist-packages
                          python3 -c "import mmtune; mmtune.Library(model='h200').close()"
                  WORKING_DIRECTORY ${WORK} COMMAND_ERROR_IS_FATAL ANY)
endif()

# It is found by pkg-config, wherever the files were installed to.
find_program(PKG_CONFIG pkg-config)
file(GLOB_RECURSE found ${WORK}/installed/mmtune.pc)
get_filename_component(directory ${found} DIRECTORY)
get_filename_component(libraries ${directory} DIRECTORY)
if(NOT PKG_CONFIG)
  message("pkg-config is not installed: its files were not tried")
  return()
endif()
foreach(package mmtune mmtune-static)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${directory} ${PKG_CONFIG} --cflags --libs ${package}
                  OUTPUT_VARIABLE options OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(options UNIX_COMMAND "${options}")
  execute_process(COMMAND ${CXX} -std=c++20 ${SANITIZER_FLAG} ${SOURCE}/main.cpp -o ${WORK}/bin/by_${package} ${options}
                          -Wl,-rpath,${libraries}
                  COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${WORK}/bin/by_${package} WORKING_DIRECTORY ${WORK} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CC} ${SANITIZER_FLAG} ${SOURCE}/main.c -o ${WORK}/bin/in_c_by_${package} ${options}
                          -Wl,-rpath,${libraries}
                  COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${WORK}/bin/in_c_by_${package} WORKING_DIRECTORY ${WORK} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
