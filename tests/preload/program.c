/* A program that knows no cuBLAS: like Python it loads a module, for itself alone, which brings cuBLAS along.
   program MODULE TIMES M CODE [STAND_IN]: in another directory the module multiplies so often, the environment goes, a
   child ends by exit(), which must count nothing again, and the program returns the code. With the stand-in's file that
   gets the module's calls, counts as many, and leaves as many to cuBLAS. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int (*multiply)(int, int) = NULL;

/* Sets an address of a function. */
static void* find(void* library, const char* name, void* function) { return *(void**)function = dlsym(library, name); }

static int take(const char* path, int times, int m) {
  int (*take_calls)(const char*) = NULL;
  void (*only_count)(int) = NULL;
  void (*pause_serving)(int) = NULL;
  void (*counts)(long long*, long long*) = NULL;
  long long served = 0, passed = 0;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL || find(library, "mmtune_cublas_take", &take_calls) == NULL ||
      find(library, "mmtune_cublas_only_count", &only_count) == NULL ||
      find(library, "mmtune_cublas_pause", &pause_serving) == NULL ||
      find(library, "mmtune_cublas_counts", &counts) == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 4;
  }
  printf("%s taken\n", take_calls("libpreload_module") > 0 ? "calls are" : "nothing is");
  printf("cuBLAS multiplied %d times\n", multiply(times, m));
  only_count(1);
  printf("then %d times\n", multiply(times, m));
  pause_serving(1);
  printf("then %d times\n", multiply(times, m));
  counts(&served, &passed);
  printf("served %lld, passed %lld\n", served, passed);
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6) return 2;
  void* module = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (module == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 3;
  }
  find(module, "multiply", &multiply);
  if (chdir("/") != 0) return 5;
  if (argc == 6) return take(argv[5], atoi(argv[2]), atoi(argv[3]));
  const int times = multiply(atoi(argv[2]), atoi(argv[3]));
  clearenv();
  const pid_t child = fork();
  if (child == 0) exit(0);
  waitpid(child, NULL, 0);
  printf("cuBLAS multiplied %d times\n", times);
  return atoi(argv[4]);
}
