"""The command line: one subcommand, one file, each with `add` (its parser) and `run` (its work, an exit code back).

Data goes to stdout, everything else to stderr. Imports that take time sit inside `run`, so that help is instant.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence

from .. import __version__
from ..errors import BakeoffError, ExitCode
from . import compare, doctor, report, run, systems, workloads

COMMANDS = (run, report, compare, systems, workloads, doctor)

EPILOG = """\
example:
  bakeoff run plans/quickstart.toml        run a comparison, print the answer, write a bundle with report.html

exit codes:
  0 done   1 done, but a check or threshold failed   2 wrong use or plan   3 server or environment failed
  130 interrupted, finished runs kept
"""


def parser() -> argparse.ArgumentParser:
    """The one definition of all commands; the reference page is made from it."""
    top = argparse.ArgumentParser(
        prog="bakeoff",
        description="Declare a database comparison in one file, run it with one command, get an answer you can defend.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"bakeoff {__version__}")
    top.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except BakeoffError as error:
        if options.debug:
            traceback.print_exc()
        say_error(error)
        return int(error.exit_code)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has gone (`| head`): no error, but Python must not try to flush to it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.DONE)


def say_error(error: BakeoffError) -> None:
    print(f"error: {error}", file=sys.stderr)
    if error.hint:
        print(f"  hint: {error.hint}", file=sys.stderr)
