"""What schedules of a few sessions showed of a level of isolation, compared with what its vendor says of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from ..analysis.wording import counted
from ..model.boundary import ScheduleEvidence, ScheduleTry, StepEvidence
from ..model.isolation import WRITE_SKEW
from ..model.records.verification import Verdict

#: The engine's schedules (crates/experiments), each with its anomaly in words. Names: Adya (1999), Berenson et al.
#: (1995), Kleppmann's Hermitage.
SCHEDULES = {
    "G0": "dirty write: of two transactions that write the same two rows, one row stays from each",
    "G1a": "aborted read: a read sees what is then rolled back",
    "G1b": "intermediate read: a read sees a value that its writer then replaces before it commits",
    "G1c": "circular information: of two transactions each sees what the other wrote",
    "OTV": "observed transaction vanishes: one read sees parts of two transactions that wrote the same rows",
    "PMP": "phantom: a row appears in the second of two reads by a condition",
    "PMP-write": "the same of a write: it deletes other rows than the transaction has just read by that condition",
    "P4": "lost update: two transactions read a row and both write it",
    "G-single": "read skew: one row from before another's transaction, one from after it",
    "G-single-predicate": "read skew by conditions",
    "G-single-write": "read skew where the second access is a write",
    "G2-item": "write skew: two transactions read two rows, and each writes one of them",
    "G2": "write skew by conditions: each inserts a row that the other had looked for",
    "G2-three": "a reader sees the second of two transactions and not the first, which had not seen the second",
}

#: What the verdicts say, the worst first.
MEANINGS: dict[Verdict, str] = {
    "VIOLATED": "an anomaly happened that the vendor's documentation excludes",
    "INCONCLUSIVE": "no such anomaly happened, in too few transactions or too few that met",
    "HELD": "no anomaly happened that the vendor's documentation excludes; that does not prove that none can",
    "OBSERVED": "bakeoff knows no promise of the vendor at this level",
}


@dataclass(frozen=True)
class Shown:
    """What the tries of one schedule showed. seen: tries in which the anomaly happened."""

    name: str
    seen: int
    tries: int
    #: "kept versions", "waiting", "an error (1213)"; "" where every try showed the anomaly.
    prevented_by: str
    #: Some transaction committed, in some try.
    progress: bool
    #: A statement had no answer.
    unanswered: bool = False

    @property
    def sign(self) -> str:
        """For a cell of a matrix."""
        if self.seen:
            return "A" if self.seen == self.tries else f"A {self.seen}/{self.tries}"
        return "?" if self.is_open else "+"

    @property
    def is_open(self) -> bool:
        """It shows nothing: no transaction committed, or some statement had no answer."""
        return not self.seen and (self.unanswered or not self.progress)

    @property
    def words(self) -> str:
        """In a list of those that happened."""
        return self.name if self.seen == self.tries else f"{self.name} ({self.seen} of {self.tries} tries)"


def shown(evidence: ScheduleEvidence) -> Shown:
    how = [_prevented_by(one) for one in evidence.tries if not one.anomaly]
    return Shown(
        name=evidence.name,
        seen=sum(one.anomaly for one in evidence.tries),
        tries=len(evidence.tries),
        prevented_by=Counter(how).most_common(1)[0][0] if how else "",
        progress=any(one.committed for one in evidence.tries),
        unanswered=any(step.answer.kind == "none" for one in evidence.tries for step in one.steps),
    )


def _prevented_by(one: ScheduleTry) -> str:
    """An abort explains more than the waiting that preceded it, and what did neither was served an old version."""
    if codes := [step.answer.code for step in one.steps if step.answer.kind == "error"]:
        return f"an error ({codes[0]})"
    return "waiting" if any(step.blocked for step in one.steps) else "kept versions"


#: From the strongest: a level, and the anomalies that it may let happen. Adya (1999); snapshot: Berenson et al. (1995).
LEVELS: dict[str, frozenset[str]] = {
    "serializable": frozenset(),
    "snapshot": frozenset(WRITE_SKEW),
    "read-committed": frozenset(SCHEDULES) - {"G0", "G1a", "G1b", "G1c"},
    "read-uncommitted": frozenset(SCHEDULES) - {"G0"},
}


def behaves_like(outcomes: Sequence[Shown], implied: str | None = None) -> str:
    """The strongest level that excludes everything that happened; "" where some schedules did not run. implied: the
    same of random transactions, "" if that is none."""
    if {one.name for one in outcomes} != set(SCHEDULES):
        return ""
    happened = {one.name for one in outcomes if one.seen}
    levels = [*LEVELS, ""]
    own = next((level for level, may in LEVELS.items() if happened <= may), "")
    weakest = max(own, own if implied is None else implied, key=levels.index)
    return weakest or "no level"


def verdict(outcomes: Sequence[Shown], allowed: Sequence[str] | None) -> Verdict:
    """allowed: what the vendor's words let happen; None: bakeoff does not know them."""
    if allowed is None:
        return "OBSERVED"
    if violations(outcomes, allowed):
        return "VIOLATED"
    return "INCONCLUSIVE" if any(one.is_open for one in outcomes) else "HELD"


def example(evidence: ScheduleEvidence) -> ScheduleTry:
    """A try that shows the anomaly, if any does."""
    return next((one for one in evidence.tries if one.anomaly), evidence.tries[0])


def violations(outcomes: Sequence[Shown], allowed: Sequence[str] | None) -> list[Shown]:
    return [] if allowed is None else [one for one in outcomes if one.seen and one.name not in allowed]


#: Of a column of statements.
_WIDTH = 38


def columns(one: ScheduleTry) -> str:
    """What each session sent and was answered, a column each, from top to bottom in the order in which it was sent."""
    sessions = range(1, one.transactions + 1)
    lines = ["".join(f"session {n}".ljust(_WIDTH) for n in sessions).rstrip()]
    for step in one.steps:
        cells = [_lines_of(step) if step.session == n else [] for n in sessions]
        lines += ["".join(part.ljust(_WIDTH) for part in row).rstrip() for row in zip_longest(*cells, fillvalue="")]
    return "\n".join([*lines, end_words(one)])


def end_words(one: ScheduleTry) -> str:
    rows = ", ".join(map(str, one.rows)) or "none"
    return f"{counted(one.committed, 'transaction', 'transactions')} committed; rows afterwards (id, value): {rows}"


def statement_of(step: StepEvidence) -> str:
    """Without the table's name, which is the same everywhere."""
    return step.statement.replace(" bakeoff_isolation", " t")


def answers_of(step: StepEvidence) -> list[str]:
    """What followed the statement: that it waited, what it was answered; empty where it was just done."""
    answer = step.answer
    words = {
        "rows": ", ".join(map(str, answer.rows)) or "no rows",
        "error": f"ERROR {answer.code}",
        "none": "no answer",
        "skipped": "not sent",
    }.get(answer.kind, "")
    return [part for part in ("(waited)" if step.blocked else "", words) if part]


def _lines_of(step: StepEvidence) -> list[str]:
    return [line[: _WIDTH - 2] for line in _wrapped(statement_of(step))] + [f"  {part}" for part in answers_of(step)]


def _wrapped(statement: str) -> list[str]:
    import textwrap

    return textwrap.wrap(statement, _WIDTH - 2, subsequent_indent="  ") or [statement]
