# cmake -DPROGRAM=… -DOUTPUT=… -P write_pages.cmake: the manual page, and what shells complete, into the directory OUTPUT.
function(write_page file)
  get_filename_component(directory ${OUTPUT}/${file} DIRECTORY)
  file(MAKE_DIRECTORY ${directory})
  execute_process(COMMAND ${PROGRAM} ${ARGN} OUTPUT_FILE ${OUTPUT}/${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
write_page(man/man1/mmtune.1 manual)
find_program(GZIP gzip)
if(GZIP) # as Debian has them; man reads both
  execute_process(COMMAND ${GZIP} -9nf ${OUTPUT}/man/man1/mmtune.1 COMMAND_ERROR_IS_FATAL ANY)
endif()
write_page(bash-completion/completions/mmtune completion bash)
write_page(zsh/site-functions/_mmtune completion zsh)
write_page(fish/vendor_completions.d/mmtune.fish completion fish)
