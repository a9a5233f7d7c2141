"""Facts and samples of a system's servers, each read in its own thread: a frozen one delays no other. If there are
several, names begin with the node, `replica.dirty_bytes`; a single server's names stay as they are."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeVar

from ..errors import BakeoffError
from ..model.faults import FaultRecord
from ..model.records.run import NodeSilence
from ..systems.base import Facts, Node, System

Value = TypeVar("Value")


def by_node(nodes: Sequence[Node], read: Callable[[Node], Mapping[str, Value]]) -> dict[str, Value]:
    """The answers of all nodes."""
    if len(nodes) == 1:
        return dict(read(nodes[0]))
    return {f"{node.name}.{name}": value for node in nodes for name, value in read(node).items()}


def silences(found: Sequence[NodeSilence], faults: Sequence[FaultRecord]) -> list[NodeSilence]:
    """Marks those that a planned fault of their node explains."""

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
    """The first node's facts, and the differing ones of each other node, after its name. Raises ServerError."""
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
    Servers that we have ended, such as those of systems that wait for their turn, do not count."""
    ended = {name: server.exit_text() for name, server in system.servers().items()}
    frozen = [name for name, server in system.servers().items() if server.alive() and not server.answers()]
    away = [f"{name} had ended ({how})" for name, how in ended.items() if how]
    return ", ".join([*away, *(f"{name} did not answer" for name in frozen)])


#: A node that has not answered for this long, after this many requests, was silent.
SILENT_S = 2.5
SILENT_ASKED = 2


@dataclass
class Look:
    """One sample of a node. `at_s` since the epoch; counters only grow. tick: the run's sample that it belongs to.
    late_s: how long after `at_s` the counters arrived from a server that answered late."""

    at_s: float
    counters: dict[str, float] = field(default_factory=dict)
    gauges: dict[str, float] = field(default_factory=dict)
    tick: int = -1
    late_s: float = 0.0

    def rates(self, before: Look, prefix: str = "") -> dict[str, float]:
        """Of the counters that both have, per second of the true time between them."""
        length_s = max(self.at_s + self.late_s - before.at_s - before.late_s, 1e-9)
        return {
            f"{prefix}{name}_per_s": (self.counters[name] - before.counters[name]) / length_s
            for name in before.counters.keys() & self.counters.keys()
        }

    @property
    def answered(self) -> bool:
        """Whether the node answered."""
        return bool(self.counters or self.gauges)


def highest(gauges: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Of each gauge."""
    found: dict[str, float] = {}
    for some in gauges:
        found |= {name: max(value, found.get(name, value)) for name, value in some.items()}
    return found


class NodeWatch:
    """Samples one node until `stop`. A missing answer does not end it."""

    def __init__(self, node: Node, epoch_s: float) -> None:
        self.node = node
        #: Without those that were forgotten.
        self.looks: list[Look] = []
        #: Without the answer, if there was one.
        self.last_asked: Look | None = None
        #: Why it ended early, in words.
        self.failure = ""
        self._epoch_s = epoch_s
        self._answered_at: float | None = None  # monotonic; None: it has never answered
        self._forgotten: Look | None = None  # the last of them with an answer
        self._silences: list[tuple[Look, Look]] = []  # between forgotten ones
        self._asked: list[int] = []
        self._turn = threading.Condition()
        self._over = False
        self._thread = threading.Thread(target=self._answer_all, name=f"watch {node.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def ask(self, tick: int) -> None:
        """Requests the sample of this number, unless it is still busy with an earlier one."""
        with self._turn:
            self._asked = [tick]
            self.last_asked = Look(time.time() - self._epoch_s, tick=tick)
            self._turn.notify()

    def stop(self, timeout_s: float) -> bool:
        """Whether all requests were answered within that time."""
        with self._turn:
            self._over = True
            self._turn.notify()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def silent_s(self) -> float:
        """For how long it has not answered; 0.0 where it has never answered, or is not sampled."""
        asked = self._answered_at is not None and not self._over
        return time.monotonic() - (self._answered_at or 0.0) if asked else 0.0

    def silences(self, window_start_s: float) -> list[NodeSilence]:
        """Of a node that answers at times: between its last answer and the next, if there was one."""
        answered = self._answered(self.looks)
        last = [self.last_asked] if self.last_asked and answered and self.last_asked.tick > answered[-1].tick else []
        return [
            NodeSilence(
                node=self.node.name,
                from_s=before.at_s - window_start_s,
                to_s=after.at_s - window_start_s if after.answered else None,
            )
            for before, after in [*self._silences, *_silent([*answered, *last])]
        ]

    def forget(self, before_tick: int) -> None:
        """Drops the samples before this one, but not when it was silent."""
        gone = [look for look in self.looks if look.tick < before_tick]
        answered = self._answered(gone)
        self._silences += _silent(answered)
        self._forgotten = answered[-1] if answered else None
        del self.looks[: len(gone)]  # the watch itself may add one meanwhile

    def _answered(self, looks: Sequence[Look]) -> list[Look]:
        """With the last one that was forgotten."""
        return [*([self._forgotten] if self._forgotten else []), *(look for look in looks if look.answered)]

    def _answer_all(self) -> None:
        while (tick := self._next()) is not None:
            try:
                self._look(tick)
            except Exception as error:  # whatever it was: the run goes on, and its record says what it lacks
                self.failure = f"{type(error).__name__}: {error}"
                return

    def _next(self) -> int | None:
        with self._turn:
            while not self._asked and not self._over:
                self._turn.wait()
            return self._asked.pop() if self._asked else None

    def _look(self, tick: int) -> None:
        look = Look(time.time() - self._epoch_s, tick=tick)
        with suppress(
            BakeoffError
        ):  # one that is frozen or has gone tells nothing; that its figures are absent shows it
            look.counters, look.gauges = self.node.counters(), self.node.gauges()
            look.late_s = time.time() - self._epoch_s - look.at_s
        if look.answered:
            self._answered_at = time.monotonic()
        self.looks.append(look)


def _silent(answered: Sequence[Look]) -> list[tuple[Look, Look]]:
    """The pairs of samples between which the node was silent."""
    return [
        (before, after)
        for before, after in pairwise(answered)
        if after.at_s - before.at_s > SILENT_S and after.tick - before.tick > SILENT_ASKED
    ]


@dataclass
class Processes:
    """Counters of a node's processes, continued when a process replaces an earlier one."""

    _pids: frozenset[int] = frozenset()
    _ended: dict[str, float] = field(default_factory=dict)
    _last: dict[str, float] = field(default_factory=dict)

    def counted(self, pids: Iterable[int], counters: dict[str, float]) -> dict[str, float]:
        """The sums, from what those that run now (if any) have counted. A server that has other processes than before
        for its connections is the same; one of which no process is left was started again. What a process did that
        has ended is in its parent's counters when that has waited for it; until then a sum does not fall."""
        now = frozenset(pids)
        if now and now.isdisjoint(self._pids):
            for name, value in self._last.items():
                self._ended[name] = self._ended.get(name, 0.0) + value
            self._last = {}
        self._pids = now or self._pids
        self._last |= {name: max(value, self._last.get(name, 0.0)) for name, value in counters.items()}
        names = self._ended.keys() | self._last.keys()
        return {name: self._ended.get(name, 0.0) + self._last.get(name, 0.0) for name in names}


#: A server that does not answer samples alongside the load for this long counts as frozen.
SERVER_SILENCE_S = 8.0


class FrozenNodes:
    """The frozen nodes of one run. `frozen`: those at this moment; their begin and end are reported."""

    def __init__(self, tell: Callable[[str], None], clock_s: Callable[[], float] = time.monotonic) -> None:
        self.frozen: set[str] = set()
        self.all_frozen = False
        self._tell = tell
        self._clock_s = clock_s
        self._excused_at: dict[str, float] = {}

    def notice(self, silent_s: Mapping[str, float], away: Collection[str]) -> None:
        """silent_s: by node, how long it has not answered. away: nodes that a planned fault keeps from answering; for
        how long it did does not count."""
        now_s = self._clock_s()
        self._excused_at |= dict.fromkeys(away, now_s)
        for node, silence_s in silent_s.items():
            own_s = min(silence_s, now_s - self._excused_at[node]) if node in self._excused_at else silence_s
            if (own_s > SERVER_SILENCE_S) == (node in self.frozen):
                continue
            self.frozen ^= {node}
            words = f"has not answered for {own_s:.0f} s" if node in self.frozen else "answers again"
            self._tell(f"{node if len(silent_s) > 1 else 'the server'} {words}")
        self.all_frozen = bool(silent_s) and self.frozen >= silent_s.keys()
