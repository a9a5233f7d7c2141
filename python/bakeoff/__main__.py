"""The way in, of the command `bakeoff` and of `python -m bakeoff`: signals are heard before anything is imported that
takes its time."""

import sys

from . import interrupts


def main() -> int:
    interrupts.listen()
    try:
        from .cli import main as carry_out

        return carry_out()
    except BaseException as error:
        if not interrupts.meant(error):
            raise
        sys.stderr.write("interrupted\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())
