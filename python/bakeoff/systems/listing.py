"""What `bakeoff systems` and `bakeoff serve` list of each kind: its state, what of it is installed, what can be
fetched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import SYSTEMS

if TYPE_CHECKING:
    from ..provision.installation import Offer


def described(kind: str) -> dict[str, Any]:
    """As `bakeoff systems --json` prints it. Sizes in bytes; None where nobody knows."""
    system = SYSTEMS[kind]
    sources = system.sources()
    return {
        "kind": kind,
        "group": system.group_of(),
        "summary": system.summary,
        "peer_of": system.peer_of,
        "missing": system.available({}) if system.capabilities().managed else None,
        "managed": system.capabilities().managed,
        "existing": system.capabilities().existing,
        "here": [
            {"version": one.version, "from": one.described, "program": str(one.program)}
            for one in (sources.here() if sources else ())
        ],
        "sources": [
            {
                "source": one.name,
                "offers": [_offer(offer) for offer in one.offers()],
                "needs": one.needs,
                "missing": one.lacks(),
            }
            for one in (sources.fetching() if sources else ())
        ],
    }


def state(system: Mapping[str, Any]) -> str:
    """Of one that is described."""
    if not system["managed"]:
        return "by address"
    return "ready" if system["missing"] is None else "missing"


def about(system: Mapping[str, Any]) -> str:
    peer = f"peer of {system['peer_of']}" if system["peer_of"] else ""
    missing = f"missing: {system['missing']}" if system["missing"] else ""
    return "; ".join(filter(None, (system["summary"], peer, missing)))


def _offer(offer: Offer) -> dict[str, Any]:
    size = offer.size
    return {
        "version": offer.version,
        "download_bytes": size and size.download_mib << 20,
        "on_disk_bytes": size and size.unpacked_mib << 20,
    }
