// What an application multiplies, for the tuner: run it with MMTUNE_RECORD=calls.csv, and then
// `mmtune tune --sizes @calls.csv`. Here the program sets the variable itself and shows what it gets.
#include <mmtune/mmtune.h>

#include <cstdlib>
#include <fstream>
#include <iostream>

#include "example.h"

int main() try {
  example::require_gpu();
  const char* file = "example_calls.csv";
  std::remove(file);
  setenv("MMTUNE_RECORD", file, 1);
  {
    const example::Matrix a(64, 64), b(64, 64), c(64, 64);
    mmtune::Library library = mmtune::Library::open({.compile_missing = true});
    for (int size = 16; size <= 64; size *= 2) {
      for (int i = 0; i < size; ++i) {
        library.enqueue({.m = size, .n = size, .k = size, .a = a.data(), .b = b.data(), .c = c.data()}, nullptr);
      }
    }
    example::check(cudaDeviceSynchronize());
  }  // closing the library writes the file
  std::ifstream record(file);
  int lines = 0;
  for (std::string line; std::getline(record, line); ++lines) std::cout << line << '\n';
  return lines == 4 ? 0 : 1;
} catch (const mmtune::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
