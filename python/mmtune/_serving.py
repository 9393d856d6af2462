"""Libraries by device, for products that mmtune serves or passes on to the package that asks."""

import atexit
import os
import threading

from mmtune import _stand_in
from mmtune.library import Library

# Flags of Library._serve: native/serve.c.
LINEAR = 1  # a has any extents, b is transposed
ONLY_FASTER = 2  # pass on what is not expected to be faster
TF32 = 4  # products of fp32 matrices
ONLY_COUNT = 8  # pass on everything
ACTIVATIONS = {None: 0, "relu": 1 << 4, "gelu": 2 << 4}
INVARIANT = 64  # the same bits for every number of rows, or an error

_database = None  # None: the user's
_libraries = {}  # the libraries by the device's number
devices = set()  # the numbers of the devices that any library was opened for
_retired = []  # whose kernels captured graphs may still launch
_lock = threading.Lock()


def library(device):
    """The library of a device, opened when it is first asked for."""
    found = _libraries.get(device)
    if found is None:
        with _lock:
            found = _libraries.get(device)
            if found is None:
                found = _libraries[device] = Library(_database, device)
                devices.add(device)
    return found


def _from_root(file):
    """Libraries are opened later, perhaps in another directory. ".." stays: behind a link it leads elsewhere."""
    return file if not file or os.path.isabs(file) else os.path.join(os.getcwd(), file)


def reload(database=None):
    """Lets later calls see what was tuned meanwhile, in `database` where it is given. Old libraries stay open."""
    global _database
    if database is not None:
        database = _from_root(os.fsdecode(database))
    with _lock:
        _database = _database if database is None else database
        _retired.extend(_libraries.values())
        _libraries.clear()
    _stand_in.reload(database)


def served():
    """What became of the calls of all libraries: rows of native/serve.c."""
    return [row for each in (*_retired, *_libraries.values()) for row in each._served()]


@atexit.register
def _close():
    """What MMTUNE_RECORD wants is written when a library is closed."""
    for each in (*_retired, *_libraries.values()):
        each.close()
