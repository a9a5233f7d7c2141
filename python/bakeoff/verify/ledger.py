"""Of records whose insert was acknowledged, which are lost after a crash? And does the documentation allow that?

The ledger is what sessions of the engine noted (crates/experiments, ledger.rs), a line for each event: `? NUMBER NS`
sent, `+` acknowledged, `-` refused. Times are of this machine's monotonic clock.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ..analysis.wording import counted, percent_words
from ..model.durability import NOTHING, longest_loss_s

#: A session, and the number of its record.
Key = tuple[int, int]
Kind = Literal["power cut", "kill", "kill of one node"]
#: In the order in which they are carried out, each with its plural.
KINDS: dict[Kind, str] = {"kill": "kills", "kill of one node": "kills of one node", "power cut": "power cuts"}
Verdict = Literal["VIOLATED", "INCONCLUSIVE", "HELD", "OBSERVED", "N/A"]
#: What the verdicts say, the worst first.
MEANINGS: dict[Verdict, str] = {
    "VIOLATED": "more was lost than the documentation allows, or records were there that nobody had written",
    "INCONCLUSIVE": "no such loss, in too few crashes or too few acknowledged writes",
    "HELD": "no loss that the documentation excludes; that does not prove that none can happen",
    "OBSERVED": "the documentation allows losses without a bound, or bakeoff knows no promise",
    "N/A": "could not be tried",
}
#: Fewer show nothing.
CRASHES_MIN = 3
WRITES_MIN = 1000
#: An idle server has nothing to lose.
_IDLE_NS = 1_000_000_000
#: Of a documented time: a thread that flushes "once per second" sleeps that long, and then flushes.
_LATE = 1.25
_NS_PER_MS = 1e6
_KEY = re.compile(r"(\d{2})-(\d{12})")


@dataclass(frozen=True)
class Ledger:
    """When each record was sent and acknowledged, ns."""

    sent: dict[Key, int] = field(default_factory=dict)
    acknowledged: dict[Key, int] = field(default_factory=dict)
    refused: set[Key] = field(default_factory=set)


@dataclass(frozen=True)
class Found:
    """What exists. strange: keys that no session writes."""

    keys: set[Key]
    torn: int = 0
    strange: int = 0


def read_ledger(folder: Path) -> Ledger:
    ledger = Ledger()
    for path in sorted(folder.glob("*.ledger")):
        session = int(path.stem)
        for line in path.read_text().splitlines():
            words = line.split()
            if len(words) != 3:  # the engine was killed while it wrote
                continue
            key = (session, int(words[1]))
            match words[0]:
                case "?":
                    ledger.sent[key] = int(words[2])
                case "+":
                    ledger.acknowledged[key] = int(words[2])
                case "-":
                    ledger.refused.add(key)
    return ledger


def read_found(path: Path, first: int = 0) -> Found:
    """first: number of the ledger's first records. Those with lower ones are of an earlier ledger: the removal of its
    table may be undone by a power loss."""
    keys, torn, strange = set(), 0, 0
    for line in path.read_text().splitlines():
        key, _, is_torn = line.partition(" ")
        known = _KEY.fullmatch(key)
        if known and int(known[2]) < first:
            continue
        if known:
            keys.add((int(known[1]), int(known[2])))
        else:
            strange += 1
        torn += bool(is_torn)
    return Found(keys, torn, strange)


@dataclass(frozen=True)
class Crash:
    """What was found after one crash. window_ms: how long before the crash the oldest lost record was acknowledged.
    gaps: lost records of which a later one of the same session exists. phantoms: records that were never sent, or
    refused for certain. unreadable: why the system could not be read afterwards."""

    acknowledged: int = 0
    lost: int = 0
    window_ms: float = 0.0
    gaps: int = 0
    phantoms: int = 0
    torn: int = 0
    #: Of those that were sent and never answered.
    unknown: int = 0
    unknown_found: int = 0
    #: Nothing was acknowledged in the second before it.
    is_idle: bool = False
    recovery_s: float = 0.0
    unreadable: str = ""


def compare(ledger: Ledger, found: Found, crashed_ns: int, recovery_s: float = 0.0) -> Crash:
    lost = [key for key in ledger.acknowledged if key not in found.keys]
    newest: dict[int, int] = {}
    for session, number in found.keys:
        newest[session] = max(newest.get(session, -1), number)
    oldest_ns = min((ledger.acknowledged[key] for key in lost), default=crashed_ns)
    unknown = ledger.sent.keys() - ledger.acknowledged.keys() - ledger.refused
    last_ns = max(ledger.acknowledged.values(), default=0)
    return Crash(
        acknowledged=len(ledger.acknowledged),
        lost=len(lost),
        window_ms=max(0, crashed_ns - oldest_ns) / _NS_PER_MS,
        gaps=sum(number < newest.get(session, -1) for session, number in lost),
        phantoms=found.strange + len(found.keys - ledger.sent.keys()) + len(found.keys & ledger.refused),
        torn=found.torn,
        unknown=len(unknown),
        unknown_found=len(unknown & found.keys),
        is_idle=last_ns < crashed_ns - _IDLE_NS,
        recovery_s=recovery_s,
    )


@dataclass(frozen=True)
class Crashes:
    """Crashes of one kind on one system. promise: what may be lost, in the words of `bakeoff.model.durability`; "":
    nobody says. whole: the data must be consistent afterwards. not_tried: why; ended_early: why there are fewer than
    were asked for."""

    kind: Kind
    crashes: Sequence[Crash] = ()
    promise: str = ""
    whole: bool = True
    not_tried: str = ""
    ended_early: str = ""

    @property
    def verdict(self) -> Verdict:
        if self.not_tried:
            return "N/A"
        allowed_ms = longest_loss_s(self.promise) * 1e3 if self.promise else math.inf
        if any(self._breaks(crash, allowed_ms) for crash in self.crashes):
            return "VIOLATED"
        if math.isinf(allowed_ms):
            return "OBSERVED"
        busy = [crash for crash in self.crashes if not (crash.is_idle or crash.unreadable)]
        enough = len(busy) >= CRASHES_MIN and sum(crash.acknowledged for crash in busy) >= WRITES_MIN
        return "HELD" if enough else "INCONCLUSIVE"

    def _breaks(self, crash: Crash, allowed_ms: float) -> bool:
        """Whatever may be lost, nothing may appear; and where data stay whole, the last is lost first."""
        spoilt = bool(crash.phantoms or crash.torn)
        if self.promise and self.whole:
            spoilt = spoilt or bool(crash.gaps or crash.unreadable)
        return spoilt or (crash.lost > 0 and (allowed_ms == 0 or crash.window_ms > _LATE * allowed_ms))

    @property
    def words(self) -> str:
        """In a few clauses."""
        if self.not_tried:
            return self.not_tried
        tried = len(self.crashes)
        writes = sum(crash.acknowledged for crash in self.crashes)
        losing = [crash for crash in self.crashes if crash.lost]
        parts = [f"{counted(tried, self.kind, KINDS[self.kind])} with {writes:,} acknowledged writes"]
        if losing:
            most, window_ms = max(one.lost for one in losing), max(one.window_ms for one in losing)
            parts.append(f"{len(losing)} lost some: at most {most:,}, of the last {window_ms:,.0f} ms")
        else:
            bound = f" (so at most {percent_words(min(1.0, 3 / tried))} of such crashes do, 95 %)" if tried else ""
            parts.append(f"none lost any{bound}")
        for name, total in (
            ("lost before a later write that was found", sum(crash.gaps for crash in self.crashes)),
            ("found that were never written", sum(crash.phantoms for crash in self.crashes)),
            ("found with another content", sum(crash.torn for crash in self.crashes)),
        ):
            if total:
                parts.append(f"{total:,} {name}")
        if unreadable := [crash.unreadable for crash in self.crashes if crash.unreadable]:
            parts.append(f"not readable afterwards: {unreadable[0]}")
        if back := [crash.recovery_s for crash in self.crashes if not crash.unreadable]:
            parts.append(f"readable again after {sorted(back)[len(back) // 2]:.1f} s (at most {max(back):.1f})")
        if self.ended_early:
            parts.append(f"ended early: {self.ended_early}")
        return f"{'; '.join(parts)}. {self._promised()}"

    def _promised(self) -> str:
        if not self.promise:
            return "No promise is known"
        spoilt = "" if self.whole else ", and the data may be spoilt"
        return f"May lose: {self.promise}{spoilt}" if self.promise != NOTHING or spoilt else "May lose nothing"
