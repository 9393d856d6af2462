"""libmmtune_cublas.so in this process, which gets the calls of cuBLAS that PyTorch's libraries make."""

import csv
import ctypes
import os
import tempfile

from mmtune._files import find_stand_in

_library = None  # once PyTorch's calls are led to it
_database = None


def take():
    """Leads PyTorch's calls to it for the rest of the process, where they are left to cuBLAS until serve(). False where
    that cannot be: the library is missing, or PyTorch has its cuBLAS inside it."""
    global _library
    if _library is None:
        try:
            found = ctypes.CDLL(find_stand_in())
        except OSError:
            return False
        found.mmtune_cublas_pause(1)
        if found.mmtune_cublas_take(b"libtorch") == 0:
            found.mmtune_cublas_pause(0)
            return False
        _library = found
        _library.mmtune_cublas_reload(_database)
    return True


def serve(only_count=False):
    """From now on calls are served or, with `only_count`, counted."""
    _library.mmtune_cublas_only_count(int(only_count))
    _library.mmtune_cublas_pause(0)


def pause():
    if _library is not None:
        _library.mmtune_cublas_pause(1)


def reload(database=None):
    """As _serving.reload()."""
    global _database
    _database = _database if database is None else os.fsencode(database)
    if _library is not None:
        _library.mmtune_cublas_reload(_database)


def rows():
    """What became of calls so far, as dictionaries by the heading of preload/report.h."""
    if _library is None:
        return []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.csv")
        _library.mmtune_cublas_report(os.fsencode(path))
        if not os.path.exists(path):  # There were no calls yet.
            return []
        with open(path, newline="") as file:
            return list(csv.DictReader(file))
