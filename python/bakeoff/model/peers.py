"""Peers: systems that speak a product's protocol and are another program (re-implementations, emulators). Their figures
say nothing about the product. Whatever shows a system's name, or lets figures meet, asks here."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import PlanError
from .records.plan import CellRecord, Scalar

_MARK = "(peer)"


def marked(words: str, peer_of: str) -> str:
    """ "mongo (peer)": of a system's name, or of words for a cell that do not name its system."""
    return f"{words} {_MARK}" if peer_of else words


def shown_level(name: str, level: Scalar, peer_of: str) -> Scalar:
    """A factor's level as it is shown: that of the factor "system" is a name."""
    return marked(str(level), peer_of) if name == "system" else level


def peer_words(cells: Iterable[CellRecord]) -> list[str]:
    """ "mongo-java-server speaks MongoDB's protocol; its figures say nothing about MongoDB", of each once."""
    peers = dict.fromkeys((cell.system, cell.kind, cell.peer_of) for cell in cells if cell.peer_of)
    return list(dict.fromkeys(_words(*peer) for peer in peers))


def _words(system: str, kind: str, product: str) -> str:
    own = kind if system == kind else f"{system} ({kind})"
    return f"{own} speaks {product}'s protocol; its figures say nothing about {product}"


def refuse_meeting(cells: Iterable[CellRecord], *, demonstration: bool, where: str) -> None:
    """Raises PlanError where figures of a peer would be compared with those of a product."""
    cells = list(cells)
    peers = [cell for cell in cells if cell.peer_of]
    products = [cell for cell in cells if not cell.peer_of]
    if demonstration or not peers or not products:
        return
    peer, product = peers[0], products[0]
    raise PlanError(
        f"{peer.system} is a peer of {peer.peer_of} and {product.system} is a product: they cannot be compared,"
        f" because {peer_words([peer])[0]}",
        where=where,
        hint="leave one of them out; or write demonstration = true at the top of the plan (of every one), and each page"
        " says that this is no comparison of products",
    )
