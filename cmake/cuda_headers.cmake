# MMTUNE::cuda_headers: the include directory of the CUDA toolkit (cuda.h, nvrtc.h). Only headers: the libraries are
# opened at run time.
find_path(MMTUNE_CUDA_INCLUDE_DIR cuda.h
  HINTS ENV CUDA_HOME ENV CUDA_PATH
  PATHS /usr/local/cuda /usr/local/cuda-13.0 /opt/cuda
  PATH_SUFFIXES include targets/x86_64-linux/include
  DOC "Directory of cuda.h and nvrtc.h")
if(NOT MMTUNE_CUDA_INCLUDE_DIR OR NOT EXISTS ${MMTUNE_CUDA_INCLUDE_DIR}/nvrtc.h)
  message(FATAL_ERROR
    "CUDA headers (cuda.h and nvrtc.h) not found: looked in $CUDA_HOME, $CUDA_PATH, /usr/local/cuda, /opt/cuda and the "
    "system's include path. Install the CUDA toolkit 12 or later (Debian and Ubuntu: package cuda-toolkit from NVIDIA's "
    "repository) or set -DMMTUNE_CUDA_INCLUDE_DIR=<directory of cuda.h>.")
endif()
add_library(mmtune_cuda_headers INTERFACE)
add_library(MMTUNE::cuda_headers ALIAS mmtune_cuda_headers)
target_include_directories(mmtune_cuda_headers SYSTEM INTERFACE $<BUILD_INTERFACE:${MMTUNE_CUDA_INCLUDE_DIR}>)
