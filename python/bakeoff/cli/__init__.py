"""The command line: `main` reads the arguments, and each command of `commands` does its work.

Data goes to stdout, everything else to stderr. Imports that take time sit inside `run`, so that help is instant.
"""

from __future__ import annotations

import argparse
import errno
import os
import re
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from .. import __version__, interrupts
from ..errors import BakeoffError, ExitCode, PlanError
from ..renamed import COMMAND_LINE, now_called
from .commands import (
    bundles,
    claims,
    compare,
    completion,
    doctor,
    export,
    init_and_quick,
    load_and_drop,
    report,
    run,
    serve,
    systems,
    track,
    verify,
    workloads,
)
from .output import flush, forget, open_streams, say, show

#: In the order of the help.
ADDING = (
    *(run.add, init_and_quick.add_quick, init_and_quick.add_init, load_and_drop.add_load, load_and_drop.add_drop),
    *(
        report.add,
        serve.add,
        compare.add,
        track.add,
        claims.add,
        verify.add,
        export.add,
        bundles.add,
        systems.add,
        workloads.add,
    ),
    *(doctor.add, completion.add),
)

EPILOG = """\
example:
  bakeoff run plans/quickstart.toml        run a comparison, print the answer, write a bundle with report.html

exit codes:
  0 done; without a threshold (--fail-if) also when nothing could be claimed, as on a machine that was too busy
  1 done, but a check, a threshold or a required run failed   2 wrong usage or plan
  3 server or environment failed   4 done, a threshold is undecided   130 interrupted, finished runs kept
"""


def parser() -> argparse.ArgumentParser:
    """The one definition of all commands; the reference page is generated from it."""
    top: argparse.ArgumentParser = _Parser(
        prog="bakeoff",
        description="Declare a database comparison in one file, run it with one command, get an answer that you"
        " can defend.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"bakeoff {__version__}")
    top.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    top.set_defaults(definition=top)
    for add in ADDING:
        add(commands)
    return top


#: Variables of the environment whose folders we use.
_NAMING_FOLDERS = ("HOME", "BAKEOFF_CACHE", "XDG_CACHE_HOME", "TMPDIR")


class _Parser(argparse.ArgumentParser):
    """Reports errors in the same form as every command."""

    def _print_message(self, message: str, file: object = None) -> None:
        """Help and version: argparse ignores a failed write."""
        if message:
            show(message.removesuffix("\n"))
            flush()

    def error(self, message: str) -> NoReturn:
        """Of an option, or a word that one takes, which has another name now, only that."""
        words = re.findall(r"(?:invalid choice: '|unrecognized arguments: )([^\s'=]+)", message)
        renamed = next(filter(None, (now_called(word, COMMAND_LINE.values()) for word in words)), "")
        if not renamed:
            say(self.format_usage(), end="")
        say(f"{self.prog}: error: {renamed or message}")
        sys.exit(ExitCode.USAGE)


def main(arguments: Sequence[str] | None = None) -> int:
    if closed := open_streams():
        say_error(closed)
        return closed.exit_code
    options = argparse.Namespace(debug=False)
    try:
        options = parser().parse_args(arguments)
        _refuse_undecodable(sys.argv[1:] if arguments is None else arguments)
        code = int(options.run(options))
        flush()
        return code
    except (KeyboardInterrupt, Exception) as error:
        if isinstance(error, KeyboardInterrupt) or interrupts.meant(error):
            say("interrupted")
            return ExitCode.INTERRUPTED
        if options.debug:
            say(traceback.format_exc(), end="")
        if isinstance(error, OSError) and error.filename is None:
            forget(sys.stdout)
        shown = _sentence(error)
        say_error(shown)
        return shown.exit_code


def _refuse_undecodable(arguments: Sequence[str]) -> None:
    """Names go into plans, bundles and configuration files, all of which are UTF-8."""
    names = [*arguments, *(os.environ.get(name, "") for name in _NAMING_FOLDERS)]
    with suppress(FileNotFoundError):  # a removed working folder matters only when it is used
        names.append(os.getcwd())
    for name in names:
        if any("\ud800" <= letter <= "\udfff" for letter in name):
            raise PlanError("a name is not UTF-8 text", where=name, hint="rename it, or choose another name")


def _sentence(error: Exception) -> BakeoffError:
    """Every error ends as one sentence, also one that no part of the program has put into words."""
    if isinstance(error, BakeoffError):
        return error
    if isinstance(error, OSError):
        hint = "free some space, or use another folder" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        return BakeoffError(error.strerror or str(error), where=str(error.filename or ""), hint=hint)
    if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("bakeoff"):
        package = error.name.partition(".")[0]
        return BakeoffError(
            f"bakeoff needs the Python package {package}, which is not installed",
            hint=f"`{sys.executable} -m pip install {package}`, or reinstall bakeoff with all its dependencies",
        )
    if isinstance(error, MemoryError):
        return BakeoffError("not enough memory", hint="free some memory, or make the plan or its data smaller")
    return BakeoffError(
        f"internal error: {type(error).__name__}: {error}",
        hint="this is a bug in bakeoff; `bakeoff --debug ...` shows where",
    )


def say_error(error: BakeoffError) -> None:
    say(f"error: {error}")
    if error.hint:
        say(f"  hint: {error.hint}")
