"""Where the library and the program are: beside this package in a wheel, around it where mmtune is installed or built."""

import shutil
import sysconfig
from pathlib import Path

from mmtune import _native

SONAME = "libmmtune.so.0.1"
_HERE = Path(_native.__file__).resolve().parent  # In a build folder all others are links to the sources.
_LEVELS = 4  # PREFIX/lib/python3/dist-packages/mmtune


def _around(folders, name):
    for parent in (_HERE, *list(_HERE.parents)[:_LEVELS]):
        for folder in folders:
            if (parent / folder / name).is_file():
                return str(parent / folder / name)
    return None


def _beside_library(name):
    multiarch = sysconfig.get_config_var("MULTIARCH") or "lib"
    return _around(("lib", "lib64", f"lib/{multiarch}", multiarch, ""), name) or name


def find_library():
    """The file of libmmtune.so, or its name, for the loader to search."""
    return _beside_library(SONAME)


def find_stand_in():
    """The same of libmmtune_cublas.so."""
    return _beside_library("libmmtune_cublas.so")


def find_program():
    """The file of the program mmtune. Raises Error where there is none."""
    program = _around(("bin", ""), "mmtune") or shutil.which("mmtune")
    if program is None:
        raise _native.Error("mmtune: the program is neither beside the package nor on the PATH; add its directory to PATH")
    return program
