"""Faults while random transactions run: drawn from a seed, and searched for the fewest that break a promise.

Each fault has its own draw, so that leaving one out changes none of the others. All faults during one kind of
transaction hit one node: with two away a cluster of three has no majority, and nothing is left to verify.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from ..model.durability import NOTHING, read
from ..model.faults import FaultKind, FaultRecord, PlannedFault
from ..model.isolation import LevelName

KINDS: tuple[FaultKind, ...] = get_args(FaultKind)
#: A server that does not stop in time is killed.
_MAY_KILL: tuple[FaultKind, ...] = ("kill", "stop", "restart")


@dataclass(frozen=True)
class WantedFaults:
    """One of each of these, as often as it is named, during each kind of transaction."""

    kinds: tuple[FaultKind, ...] = ()
    seed: int = 0


def draw(wanted: WantedFaults, nodes: Sequence[str], seconds: float, part: int) -> list[PlannedFault]:
    """By time, which counts from the first transaction. seconds: of transactions. part: which kind of transaction."""
    node = nodes[int(_random(wanted.seed, part).random() * len(nodes))]
    faults = []
    for number, kind in enumerate(wanted.kinds):
        own = _random(wanted.seed, part, kind, wanted.kinds[:number].count(kind))
        at_s, for_s = seconds * (0.1 + 0.5 * own.random()), seconds * (0.03 + 0.15 * own.random())
        planned_for_s = None if kind == "restart" else round(for_s, 3)
        by_s = _size_s(kind, own)
        faults.append(PlannedFault(at_s=round(at_s, 3), node=node, do=kind, for_s=planned_for_s, by_s=by_s))
    return sorted(faults, key=lambda fault: fault.at_s)


def _size_s(kind: FaultKind, random: random.Random) -> float | None:
    """A delay as to the next town, or to the other side of the world; a clock that is wrong by some seconds."""
    match kind:
        case "delay":
            return round(0.002 * math.pow(75, random.random()), 4)  # 2 ms to 150 ms
        case "skew":
            return round(random.uniform(0.5, 5.0), 2) * (1 if random.random() < 0.5 else -1)
    return None


def _random(*parts: object) -> random.Random:
    return random.Random(repr(parts))


def claim_after(claim: LevelName | None, wanted: WantedFaults, portable: Mapping[str, str]) -> LevelName | None:
    """What is still claimed: nothing where a killed server may lose what it acknowledged. portable: its facts."""
    return None if may_lose(wanted, portable) else claim


def may_lose(wanted: WantedFaults, portable: Mapping[str, str]) -> bool:
    """Whether a server may be killed that then loses what it acknowledged."""
    survival = read(portable)
    loses = survival is not None and survival.lost_when_killed != NOTHING
    return loses and any(kind in _MAY_KILL for kind in wanted.kinds)


def fault_words(records: Sequence[FaultRecord]) -> str:
    """ "kill n2 at 1.81 s, restart it after 0.4 s; ..."; "" without any."""
    done = [record for record in records if record.begun_s is not None]
    words = [record.planned.words for record in done]
    if len(done) < len(records):
        words.append(f"{len(records) - len(done)} not carried out, because the server was still away")
    return "; ".join(words)


def document(records: Sequence[FaultRecord]) -> list[dict[str, Any]]:
    return [record.model_dump(exclude={"effect", "marked_s"}) for record in records]


def search(violates: Callable[[WantedFaults], bool], wanted: WantedFaults, seeds: int) -> WantedFaults | None:
    """The first of this number of seeds, from that of `wanted` on, whose faults break a promise, with no more of them
    than are needed; None: no seed does. A server does nothing twice in the same way: what breaks a promise only at
    times may be missed, and a fault may stay that is not needed."""
    for seed in range(wanted.seed, wanted.seed + seeds):
        tried = replace(wanted, seed=seed)
        if violates(tried):
            return _with_fewest(violates, tried)
    return None


def _with_fewest(violates: Callable[[WantedFaults], bool], found: WantedFaults) -> WantedFaults:
    """Leaves out one fault after another, the last first: those before it stay as they were drawn."""
    for number in reversed(range(len(found.kinds))):
        fewer = replace(found, kinds=(*found.kinds[:number], *found.kinds[number + 1 :]))
        if fewer.kinds and violates(fewer):
            found = fewer
    return found
