"""What the servers of a system say. Where there are several they are told apart by the names of its nodes:
`replica.dirty_bytes`. A single server's words stand as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from ..model.faults import FaultRecord
from ..model.records import NodeSilence
from ..systems.base import Facts, Node, System

Value = TypeVar("Value")


def by_node(nodes: Sequence[Node], read: Callable[[Node], Mapping[str, Value]]) -> dict[str, Value]:
    """What each says, all asked."""
    if len(nodes) == 1:
        return dict(read(nodes[0]))
    return {f"{node.name}.{name}": value for node in nodes for name, value in read(node).items()}


def silences(found: Sequence[NodeSilence], faults: Sequence[FaultRecord]) -> list[NodeSilence]:
    """Those that a fault of that node explains are marked as planned."""

    def planned(silence: NodeSilence) -> bool:
        return any(
            fault.planned.node == silence.node
            and fault.begun_s is not None
            and (silence.to_s is None or fault.begun_s < silence.to_s)
            and (fault.back_s is None or fault.back_s > silence.from_s)
            for fault in faults
        )

    return [silence.model_copy(update={"planned": planned(silence)}) for silence in found]


def facts_of(nodes: Sequence[Node]) -> Facts:
    """The first node's, and of each other what it has otherwise, with its name before. Raises ServerError."""
    first, *others = [(node.name, node.facts()) for node in nodes]
    found = first[1]
    for name, facts in others:
        found = replace(
            found,
            product=_joined(found.product, facts.product),
            version=_joined(found.version, facts.version),
            settings={**found.settings, **_different(name, facts.settings, first[1].settings)},
            portable={**found.portable, **_different(name, facts.portable, first[1].portable)},
        )
    return found


def _different(node: str, said: Mapping[str, str], first: Mapping[str, str]) -> dict[str, str]:
    return {f"{node}.{name}": value for name, value in said.items() if first.get(name) != value}


def _joined(words: str, more: str) -> str:
    return words if more in words.split(" | ") else f"{words} | {more}"


def away_words(system: System) -> str:
    """Servers of ours that ended by themselves or do not answer: "n2 had ended (killed by SIGKILL), n3 did not answer".
    Those that we have ended, as systems are that wait for their turn, are not away."""
    ended = {name: server.exit_text() for name, server in system.servers().items()}
    frozen = [name for name, server in system.servers().items() if server.alive() and not server.answers()]
    away = [f"{name} had ended ({how})" for name, how in ended.items() if how]
    return ", ".join([*away, *(f"{name} did not answer" for name in frozen)])
