"""The one family of errors a user sees: what happened, where, and what to do. Never a traceback."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of every command."""

    DONE = 0
    CHECK_FAILED = 1  # done, but a threshold or a check failed
    USAGE = 2  # wrong use or wrong plan
    ENVIRONMENT = 3  # server or environment failed
    UNDECIDED = 4  # done, nothing failed, and a threshold could not be decided
    INTERRUPTED = 130  # interrupted; partial results kept


def code_of_checks(*, failed: bool, undecided: bool, means: str) -> ExitCode:
    """means: what the plan makes of an undecided threshold: "separate", "pass" or "fail"."""
    if failed or (undecided and means == "fail"):
        return ExitCode.CHECK_FAILED
    return ExitCode.UNDECIDED if undecided and means == "separate" else ExitCode.DONE


class BakeoffError(Exception):
    """Base of all errors shown to users. `what` is one sentence; `where` a place in a plan, run or file."""

    exit_code: ExitCode = ExitCode.ENVIRONMENT

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what} ({self.where})" if self.where else self.what


class PlanError(BakeoffError):
    """The plan, an option or an argument is wrong."""

    exit_code = ExitCode.USAGE


class ServerError(BakeoffError):
    """A server could not be obtained, started, reached, or failed."""


class EngineError(BakeoffError):
    """The measuring process failed or could not be started."""


class BundleError(BakeoffError):
    """A bundle is missing, cut short, or of a newer format."""

    exit_code = ExitCode.USAGE


class BundleHeld(BundleError):
    """Another process is writing into the bundle."""
