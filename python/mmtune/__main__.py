"""python -m mmtune, and `mmtune` of the wheel: the program."""

import os
import sys

from mmtune import Error
from mmtune._files import find_program


def main():
    try:
        program = find_program()
    except Error as error:
        sys.exit(str(error))
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
