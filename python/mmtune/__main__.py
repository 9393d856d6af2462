"""python -m mmtune, and `mmtune` of the wheel: the program."""

import os
import sys

from mmtune._files import find_program


def main():
    program = find_program()
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
