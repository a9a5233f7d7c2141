"""What experiments after the runs showed of the systems' promises: a verdict for each system at each level, and each
violation as people check it by hand."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice, zip_longest

from pydantic import Field

from ..bundle.read import Bundle
from ..model.boundary import Document, ScheduleEvidence
from ..model.records.verification import NOT_APPLICABLE, JudgedRecord, Proof, VerificationRecord
from ..verify.histories import NAMES, head_words, judged_under_load, title_words
from ..verify.isolation import MEANINGS, SCHEDULES, answers_of, end_words, example, statement_of, verdict, violations
from ..verify.verdicts import behaves_like_of, level_words, outcomes, verdict_of, violation_words

VIOLATED = "VIOLATED"
#: In place of a verdict: the plan asks for checks, and the bundle has none of this system.
NOT_CHECKED = "not checked"
_WORST_FIRST = (*MEANINGS, NOT_APPLICABLE, NOT_CHECKED)
#: Anomalies that a sentence names.
NAMED_MAX = 2
#: Of one system at one level; a bundle may come from anybody.
VIOLATIONS_MAX = 40


class CheckAnswer(Document):
    """One way of checking. name: "schedules", "appends to lists"."""

    name: str
    verdict: str
    words: str


class Violation(Document):
    """One example. heads: of its columns, a session or a transaction each. rows: of each column a statement, and below
    it what it was answered; each column is in the order of time, and so are the rows of a schedule. ends: what came of
    it, or why it cannot be."""

    title: str
    about: str = ""
    heads: list[str]
    rows: list[list[list[str]]]
    ends: list[str]


class PromiseAnswer(Document):
    """One system with one set of options at one level. cells: those that it is said of. verdict: VIOLATED,
    INCONCLUSIVE, HELD, OBSERVED, N/A (why: `why_not`) or "not checked". broken: what happened that is excluded, in
    words."""

    cells: list[str]
    system: str
    product: str = ""
    level: str
    verdict: str
    why_not: str = ""
    behaves_like: str = ""
    broken: list[str] = Field(default_factory=list)
    checks: list[CheckAnswer] = Field(default_factory=list)
    violations: list[Violation] = Field(default_factory=list)

    @property
    def is_violated(self) -> bool:
        return self.verdict == VIOLATED

    def violation_words(self, name: str) -> str:
        """ "mariadb violates what serializable promises: lost update (P4)". name: of the contestant, or the system."""
        more = len(self.broken) - NAMED_MAX
        happened = [*self.broken[:NAMED_MAX], *([f"{more} more"] if more > 0 else [])]
        return f"{name} violates what {self.level} promises: {', '.join(happened)}"


def promise_answers(bundle: Bundle) -> list[PromiseAnswer]:
    """In the order of the plan's cells; empty where the plan does not ask for checks."""
    found = [_answer(record, _under_load(bundle, record.cells)) for record in bundle.verifications]
    missing: dict[tuple[str, str], list[str]] = {}
    unverified = set(bundle.unverified)
    for cell in (cell for cell in bundle.plan.cells if cell.id in unverified):
        missing.setdefault((cell.system, cell.isolation or "its own level"), []).append(cell.id)
    found += [_unchecked(*of, cells, _under_load(bundle, cells)) for of, cells in missing.items()]
    order = {cell.id: place for place, cell in enumerate(bundle.plan.cells)}
    return sorted(found, key=lambda one: min(map(order.__getitem__, one.cells)))


def promises_by_cell(bundle: Bundle) -> dict[str, PromiseAnswer]:
    """The worst, where several bundles are one side of a comparison."""
    found: dict[str, PromiseAnswer] = {}
    for one in sorted(promise_answers(bundle), key=lambda one: _WORST_FIRST.index(one.verdict), reverse=True):
        found |= dict.fromkeys(one.cells, one)
    return found


def _under_load(bundle: Bundle, cells: Collection[str]) -> JudgedRecord | None:
    """What the probes next to the runs saw, where the plan asks for them. A violation is one in a disturbed run,
    too."""
    wanted = set(cells)
    runs = (run for run in bundle.attempts if run.state == "done" and run.cell in wanted)
    return judged_under_load([run.staleness_probe for run in runs if run.staleness_probe is not None])


def _unchecked(system: str, level: str, cells: list[str], under_load: JudgedRecord | None) -> PromiseAnswer:
    """Without a check after the runs there is no pass, but there may be a violation."""
    answer = PromiseAnswer(cells=cells, system=system, level=level, verdict=NOT_CHECKED)
    if under_load is not None:
        answer.checks.append(_check(under_load))
        if under_load.verdict == VIOLATED:
            answer.verdict, answer.broken = VIOLATED, [NAMES[under_load.name]]
            answer.violations = list(islice(_of_judged(under_load), VIOLATIONS_MAX))
    return answer


def _answer(record: VerificationRecord, under_load: JudgedRecord | None) -> PromiseAnswer:
    """Too few reads under load leave the verdict as it is: few runs are long enough."""
    own = verdict_of(record)
    if under_load is not None:
        record = record.model_copy(update={"judged": [*record.judged, under_load]})
    return PromiseAnswer(
        cells=record.cells,
        system=record.label,
        product=f"{record.product} {record.version}".strip(),
        level=level_words(record),
        verdict=VIOLATED if under_load is not None and under_load.verdict == VIOLATED else own,
        why_not=record.not_applicable,
        behaves_like=behaves_like_of(record),
        broken=violation_words(record),
        checks=[] if record.not_applicable else list(_checks(record)),
        violations=list(islice(_violations(record), VIOLATIONS_MAX)),
    )


def _checks(record: VerificationRecord) -> Iterator[CheckAnswer]:
    if shown := outcomes(record):
        happened = ", ".join(one.words for one in shown if one.seen) or "no anomaly"
        nothing = ", ".join(one.name for one in shown if one.is_open)
        words = f"{happened}; {nothing} show nothing" if nothing else happened
        yield CheckAnswer(name="schedules", verdict=verdict(shown, record.allowed), words=words)
    yield from map(_check, record.judged)


def _check(judged: JudgedRecord) -> CheckAnswer:
    return CheckAnswer(name=NAMES[judged.name], verdict=judged.verdict, words=judged.words)


def _violations(record: VerificationRecord) -> Iterator[Violation]:
    broken = {one.name for one in violations(outcomes(record), record.allowed)}
    yield from (_of_schedule(one) for one in record.schedules if one.name in broken)
    for judged in record.judged:
        if judged.verdict == VIOLATED:
            yield from _of_judged(judged)


def _of_judged(judged: JudgedRecord) -> Iterator[Violation]:
    return (_of_proof(NAMES[judged.name], proof) for proof in judged.proofs)


def _of_schedule(evidence: ScheduleEvidence) -> Violation:
    tried = example(evidence)
    sessions = range(1, tried.transactions + 1)
    seen = sum(one.anomaly for one in evidence.tries)
    return Violation(
        title=f"{evidence.name}, in {seen} of {len(evidence.tries)} tries",
        about=SCHEDULES[evidence.name],
        heads=[f"session {number}" for number in sessions],
        rows=[
            [[statement_of(step), *answers_of(step)] if step.session == number else [] for number in sessions]
            for step in tried.steps
        ],
        ends=[end_words(tried)],
    )


def _of_proof(name: str, proof: Proof) -> Violation:
    """Its transactions are next to each other: which of their statements came first is not known."""
    statements = [column.statements for column in proof.transactions]
    return Violation(
        title=f"{name}: {title_words(proof)}",
        heads=[head_words(number, column) for number, column in enumerate(proof.transactions, start=1)],
        rows=[[[line] if line else [] for line in row] for row in zip_longest(*statements, fillvalue="")],
        ends=proof.reasons,
    )
