// The rest of the driver's functions that mmtune looks for: all say that they are not supported.
#include "runtime/gpu/driver.h"

#define MMTUNE_TEXT(text) #text
#define MMTUNE_SYMBOL(name) MMTUNE_TEXT(name)

extern "C" int mmtune_not_supported() { return CUDA_ERROR_NOT_SUPPORTED; }

#define MMTUNE_ALIAS(name) asm(".weak " MMTUNE_SYMBOL(name) "\n.set " MMTUNE_SYMBOL(name) ", mmtune_not_supported");
MMTUNE_CUDA_FUNCTIONS(MMTUNE_ALIAS)
