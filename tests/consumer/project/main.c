#include <mmtune/mmtune_c.h>
#include <stdio.h>

int main(void) {
  mmtune_library* library = NULL;
  mmtune_options options = MMTUNE_OPTIONS_INIT;
  mmtune_call call = MMTUNE_CALL_INIT;
  mmtune_answer answer = MMTUNE_ANSWER_INIT;
  options.database = "none.db";
  options.model = "h200";
  call.m = call.n = call.k = 512;
  if (mmtune_open(&options, &library) != MMTUNE_OK || mmtune_explain(library, &call, &answer) != MMTUNE_OK) {
    fprintf(stderr, "%s\n", mmtune_last_error());
    return 1;
  }
  printf("%s: %s %s (%s)\n", mmtune_version(), answer.family, answer.config, answer.why);
  mmtune_close(library);
  return 0;
}
