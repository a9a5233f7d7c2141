"""What a Cassandra log says about a failed start, as one sentence with a hint."""

from __future__ import annotations

import re
from collections.abc import Collection

from bakeoff.errors import BakeoffError, PlanError, ServerError
from bakeoff.provision.server import LOG_KEPT, PortTaken

_UNKNOWN = re.compile(r"Please remove properties \[([^\]]+)\]")
#: What it says first names the place in the file, and what follows the reason.
_BAD_VALUE = re.compile(
    r"Cannot create property=(?P<name>\w+) for JavaBean=[^\n]*\n in 'reader'[^\n]*\n[^\n]*\n\s*\^\n"
    r"(?P<why>[^\n]+?)(?: for enum class[^\n]*)?\n"
)
_REFUSED = re.compile(r"Exception encountered during startup: (?P<why>[^\n]+)")
_ERROR_LINE = re.compile(r"^(?:ERROR +\S+ \S+ |Error: )(?P<text>.+)$", re.MULTILINE)


def explain_failed_start(
    log: str, how_it_ended: str, *, where: str, ports: tuple[int, int], settings: Collection[str]
) -> BakeoffError:
    """ports: of clients, and between nodes. settings: names of those that the plan has."""
    place = f"{where}.start.settings"
    if found := _UNKNOWN.search(log):
        return PlanError(
            f"the server does not know the setting {found[1]!r}",
            where=place,
            hint="its names are those of cassandra.yaml in the documentation of this version",
        )
    if found := _BAD_VALUE.search(log):
        return PlanError(f"the server does not take the setting {found['name']}: {found['why']}", where=place)
    if (found := _REFUSED.search(log)) and any(name in found["why"] for name in settings):
        return PlanError(f"the server does not take its settings: {found['why']}", where=place)
    if "Address already in use" in log or "is in use by another process" in log:
        client, between = ports
        return PortTaken(between if f":{between}" in log else client, where)
    if re.search(r"Could not reserve enough space|insufficient memory|OutOfMemoryError|Cannot allocate memory", log):
        return ServerError(
            "the server could not get the memory it was told to use", where=where, hint="lower `heap`, or `nodes`"
        )
    if "No space left on device" in log:
        return ServerError("the disk is full", where=where, hint="free some space, or run in a folder on another disk")
    lines = [found["text"].strip() for found in _ERROR_LINE.finditer(log)]
    said = "; ".join(list(dict.fromkeys(lines))[:3]) or " ".join(log.strip().splitlines()[-3:]) or "it said nothing"
    return ServerError(f"the server did not start ({how_it_ended}): {said}", where=where, hint=LOG_KEPT)
