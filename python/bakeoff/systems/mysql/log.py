"""What the error log of a server of the MySQL family says about a failed start, as one sentence with a hint."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from bakeoff.errors import BakeoffError, PlanError, ServerError
from bakeoff.provision.server import LOG_KEPT, PortTaken

from ...suggestions import meant

_UNKNOWN = re.compile(r"unknown (?:variable|option) '(?:--)?([^'=]+)")
_BAD_VALUE = re.compile(r"Error while setting value '(?P<value>[^']*)' to '(?P<name>[^']+)'")
_UNKNOWN_SUFFIX = re.compile(
    r"Unknown suffix '(?P<suffix>.)' used for variable '(?P<name>[^']+)' \(value '(?P<value>[^']*)'"
)
_ERROR_LINE = re.compile(r"^.*\[ERROR\] (?P<text>.+)$", re.MULTILINE)
#: Errors that follow from others or say nothing.
_ECHOES = ("Aborting", "Plugin 'InnoDB' registration as a STORAGE ENGINE failed", "Unknown/unsupported storage engine")


def explain_failed_start(
    log: str, how_it_ended: str, *, where: str, port: int, known: Callable[[], Iterable[str]]
) -> BakeoffError:
    """`known` gives the setting names the server understands; asked only when one was unknown."""
    if found := _UNKNOWN.search(log):
        name = found[1].replace("-", "_")
        return PlanError(
            f"the server does not know the setting {name!r}",
            where=f"{where}.start.settings",
            hint=meant(name, known()),
        )
    if found := _BAD_VALUE.search(log) or _UNKNOWN_SUFFIX.search(log):
        return _bad_value(found, where)
    if "Address already in use" in log or "already have another server running on port" in log:
        return PortTaken(port, where)
    if "No space left on device" in log or re.search(r"\b(errno|error|OS error):? 28\b", log):
        return ServerError("the disk is full", where=where, hint="free some space, or run in a folder on another disk")
    if re.search(r"Cannot allocate memory|Out of memory|Cannot map innodb_buffer_pool_size", log):
        return ServerError(
            "the server could not get the memory it was told to use", where=where, hint="lower innodb_buffer_pool_size"
        )
    said = "; ".join(_errors(log)) or " ".join(log.strip().splitlines()[-3:]) or "it said nothing"
    return ServerError(f"the server did not start ({how_it_ended}): {said}", where=where, hint=LOG_KEPT)


#: Values that the server passes over with a warning, and then runs with something else.
_PASSED_OVER = (
    re.compile(r"option '(?P<name>[^']+)': boolean value '(?P<value>[^']*)' (?:wasn't|was not) recognized"),
    re.compile(r"ignoring option '--(?P<name>[^']+)' due to invalid value '(?P<value>[^']*)'"),
)


def refused_values(log: str, where: str) -> PlanError | None:
    """A value that the server did not take and started without: a benchmark of something else."""
    found = next((match for pattern in _PASSED_OVER if (match := pattern.search(log))), None)
    return None if found is None else _bad_value(found, where)


def _bad_value(found: re.Match[str], where: str) -> PlanError:
    name = found["name"].replace("-", "_")
    return PlanError(f"the server does not take {found['value']!r} as {name!r}", where=f"{where}.start.settings")


def adjusted_settings(log: str) -> list[str]:
    """Settings that the server took, but not as they were asked: its own warnings."""
    return list(dict.fromkeys(re.findall(r"option '[^']+': (?:un)?signed value \S+ adjusted to \S+", log)))


def _errors(log: str) -> list[str]:
    lines = [found["text"].strip() for found in _ERROR_LINE.finditer(log)]
    telling = [line for line in lines if not any(echo in line for echo in _ECHOES)]
    return [re.sub(r"^\S*mariadbd: ", "", line) for line in dict.fromkeys(telling or lines)][:3]
