"""What a PostgreSQL log says about a failed start, as one sentence with a hint."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from bakeoff.errors import BakeoffError, PlanError, ServerError
from bakeoff.provision.server import LOG_KEPT, PortTaken

from ...suggestions import meant

_UNKNOWN = re.compile(r'unrecognized configuration parameter "([^"]+)"')
_BAD_VALUE = re.compile(
    r'(?:invalid value for parameter "(?P<name>[^"]+)": "(?P<value>[^"]*)"'
    r'|(?P<number>\S+(?: \w+)?) is outside the valid range for parameter "(?P<ranged>[^"]+)" (?P<range>\([^)]*\))'
    r'|parameter "(?P<typed>[^"]+)" requires (?P<what>[^\n]+))'
)
_ERROR_LINE = re.compile(r"(?:FATAL|PANIC|ERROR|initdb: error|LOG: .*could not): *(?P<text>.+)$", re.MULTILINE)


def explain_failed_start(
    log: str, how_it_ended: str, *, where: str, port: int, known: Callable[[], Iterable[str]]
) -> BakeoffError:
    """`known` gives the setting names the server understands; asked only when one was unknown."""
    settings = f"{where}.start.settings"
    if found := _UNKNOWN.search(log):
        return PlanError(
            f"the server does not know the setting {found[1]!r}", where=settings, hint=meant(found[1], known())
        )
    if found := _BAD_VALUE.search(log):
        if found["name"]:
            return PlanError(f"the server does not take {found['value']!r} as {found['name']!r}", where=settings)
        if found["ranged"]:
            what = f"the server does not take {found['number']!r} as {found['ranged']!r}"
            return PlanError(what, where=settings, hint=f"it may be {found['range'].strip('()')}")
        return PlanError(f"the setting {found['typed']!r} requires {found['what']}", where=settings)
    if "Address already in use" in log:
        return PortTaken(port, where)
    if "No space left on device" in log and "shared memory" not in log:
        return ServerError("the disk is full", where=where, hint="free some space, or run in a folder on another disk")
    if re.search(r"Cannot allocate memory|could not (resize|create) shared memory|could not map anonymous", log):
        return ServerError(
            "the server could not get the memory it was told to use", where=where, hint="lower shared_buffers"
        )
    lines = [found["text"].strip() for found in _ERROR_LINE.finditer(log)]
    said = "; ".join(list(dict.fromkeys(lines))[:3]) or " ".join(log.strip().splitlines()[-3:]) or "it said nothing"
    return ServerError(f"the server did not start ({how_it_ended}): {said}", where=where, hint=LOG_KEPT)
