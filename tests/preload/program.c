/* A program that knows no cuBLAS: like Python it loads a module, for itself alone, which brings cuBLAS along.
   program MODULE TIMES M CODE: the module multiplies so often, and the program returns the code. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int (*multiply)(int, int) = NULL;
  if (argc != 5) return 2;
  void* module = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (module == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 3;
  }
  *(void**)&multiply = dlsym(module, "multiply");
  printf("cuBLAS multiplied %d times\n", multiply(atoi(argv[2]), atoi(argv[3])));
  return atoi(argv[4]);
}
