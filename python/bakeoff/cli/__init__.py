"""The command line: one subcommand, one file, each with `add` (its parser) and `run` (its work, an exit code back).

Data goes to stdout, everything else to stderr. Imports that take time sit inside `run`, so that help is instant.
"""

from __future__ import annotations

import argparse
import errno
import io
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
  0 done   1 done, but a check, a threshold or runs that a figure needs failed   2 wrong use or plan
  3 server or environment failed   130 interrupted, finished runs kept
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
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a letter must not cost the answer
    options = parser().parse_args(arguments)
    try:
        code = int(options.run(options))
        if sys.stdout is not None:
            sys.stdout.flush()  # a full disk or a closed pipe is noticed here, not by Python at exit
        return code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has gone (`| head`): no error, but Python must not try to flush to it at exit.
        _forget_stdout()
        return int(ExitCode.DONE)
    except Exception as error:
        if options.debug:
            traceback.print_exc()
        if isinstance(error, OSError) and error.filename is None:
            _forget_stdout()
        shown = _sentence(error)
        say_error(shown)
        return int(shown.exit_code)


def _sentence(error: Exception) -> BakeoffError:
    """What no part of the program put into words itself still gets one sentence."""
    if isinstance(error, BakeoffError):
        return error
    if isinstance(error, OSError):
        hint = "free some space, or use another folder" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        return BakeoffError(error.strerror or str(error), where=str(error.filename or ""), hint=hint)
    return BakeoffError(
        f"this should not have happened: {type(error).__name__}: {error}",
        hint="a bug in bakeoff; `bakeoff --debug ...` shows where",
    )


def _forget_stdout() -> None:
    """What could not be written to it is not tried again at exit."""
    if sys.stdout is None:
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say_error(error: BakeoffError) -> None:
    print(f"error: {error}", file=sys.stderr)
    if error.hint:
        print(f"  hint: {error.hint}", file=sys.stderr)
