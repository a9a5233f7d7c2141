"""From an article's claims and the bundles of its plans to verdicts, as data. Terminal, JSON and pages are views."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from .. import __version__
from ..analysis.compare import ALPHA
from ..analysis.decision import Open, Peak, Plain, Statement, Within, decide
from ..analysis.estimate import Evidence
from ..analysis.registry import UnknownMetric, metric
from ..analysis.undecided import more_repetitions, more_words
from ..analysis.wording import counted, percent_words
from ..bundle.read import Bundle
from ..bundle.resume import judged_by
from ..errors import PlanError
from ..findings.runs import runs_by_cell, too_few_undisturbed
from ..model.boundary import Document
from ..model.records.plan import PlanRecord
from .article import short
from .document import AnyTest, Article, Claim, PeakTest, Trend
from .kinds import KINDS, peak_words
from .measured import Measured, Part, alike
from .select import Cells, NotHere

VerdictName = Literal["reproduced", "contradicted", "inconclusive", "not testable"]
#: What is shown next to each, which needs no colour.
SIGNS: Mapping[VerdictName, str] = {"reproduced": "✓", "contradicted": "✗", "inconclusive": "?", "not testable": "–"}
_VERDICTS: Mapping[str, VerdictName] = {"holds": "reproduced", "fails": "contradicted", "open": "inconclusive"}
#: That a bound is missed by, where neither the claim nor the plan says which difference matters.
MATTERS_RATIO = 0.05
_MORE = "more repetitions would decide it, or longer runs"


class PartFound(Document):
    """One interval, or set of levels. measured: in words, with its interval at the level of the decision. needs: what
    would decide it; "" where it is decided. estimate, low, high: ratios, or values of a cell alone."""

    about: str
    values: str
    measured: str
    wanted: str
    status: Literal["holds", "fails", "open"]
    needs: str = ""
    notes: list[str] = Field(default_factory=list)
    estimate: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def sign(self) -> str:
        return SIGNS[_VERDICTS[self.status]]


class ClaimFound(Document):
    """level: of its intervals: the claims of the article share one level of 95 %. why: it is inconclusive, or not
    testable."""

    id: str
    says: str
    verdict: VerdictName
    analogue: str = ""
    plans: list[str] = Field(default_factory=list)
    measures: list[str] = Field(default_factory=list)
    limits: str = ""
    #: Whether it is about the seconds of runs.
    over_time: bool = False
    level: float | None = None
    parts: list[PartFound] = Field(default_factory=list)
    why: str = ""

    @property
    def verdict_words(self) -> str:
        by = ", by analogue" if self.analogue and self.verdict in ("reproduced", "contradicted") else ""
        return f"{SIGNS[self.verdict]} {self.verdict}{by}"


class PlanUsed(Document):
    """A plan and the bundle that its claims are judged by; why: there is none."""

    name: str
    file: str
    title: str
    claims: list[str]
    bundle: str | None = None
    measured: str = ""
    why: str = ""


class ArticleFound(Document):
    article: str
    title: str
    published: str
    source: str
    setup: str
    confounds: list[str]
    slips: list[dict[str, str]]
    scale: str
    command: str
    bakeoff_version: str = __version__
    level: float = 1 - ALPHA
    counts: str
    plans: list[PlanUsed]
    claims: list[ClaimFound]


@dataclass(frozen=True)
class PlanMeasured:
    """record: the plan's, or its bundle's where there is one. bundle: None for the reason `why`."""

    path: Path
    record: PlanRecord
    skipped: Mapping[str, str]
    bundle: Bundle | None = None
    why: str = ""

    @property
    def is_evidence(self) -> bool:
        """Whether there is a bundle, and disturbance left its cells enough runs."""
        if self.bundle is None:
            return False
        runs = judged_by(self.bundle.runs, allow_disturbed=False)
        return not any(map(too_few_undisturbed, runs_by_cell(runs).values()))

    def with_bundle(self, bundle: Bundle) -> PlanMeasured:
        return replace(self, record=bundle.plan, skipped=bundle.info.skipped, bundle=bundle, why="")


def judge_article(
    article: Article, plans: Mapping[str, PlanMeasured], where: str, scale: str, command: str, only: Sequence[str] = ()
) -> ArticleFound:
    """only: ids; of the others nothing is said, and they keep their share of the level. PlanError where a claim does
    not fit its plan."""
    wanted = [claim for claim in article.claims if not only or claim.id in only]
    parts = {claim.id: _parts(claim, plans, where) for claim in wanted if claim.all_tests}
    statements = [Statement([part.question for _, part in found]) for found in parts.values()]
    decided = dict(zip(parts, decide(statements, family=len(article.tested)), strict=True))
    found = []
    for claim in wanted:
        own = {"id": claim.id, "says": claim.says, "analogue": claim.analogue, "limits": claim.limits}
        if not claim.all_tests:
            found.append(ClaimFound(**own, verdict="not testable", why=claim.untestable))
            continue
        decision = decided[claim.id]
        shown = [
            part_found(test, part, decision.alpha, len(parts[claim.id]), _matters(plans[test.plan or claim.plan], part))
            for test, part in parts[claim.id]
        ]
        verdict = _VERDICTS[decision.status]
        needs = dict.fromkeys(one.needs for one in shown if one.needs)
        found.append(
            ClaimFound(
                **own,
                verdict=verdict,
                plans=list(dict.fromkeys(test.plan or claim.plan for test in claim.all_tests)),
                measures=list(dict.fromkeys(test.measure or claim.measure for test in claim.all_tests)),
                over_time=any(map(_is_over_time, claim.all_tests)),
                level=1 - decision.alpha,
                parts=shown,
                why="; ".join(needs) if verdict == "inconclusive" else "",
            )
        )
    about = article.model_dump(include={"article", "title", "published", "source", "setup", "confounds", "slips"})
    return ArticleFound(
        **about,
        scale=scale,
        command=command,
        counts=_counts(found),
        plans=[_used(name, one, [c.id for c in found if name in c.plans]) for name, one in plans.items()],
        claims=found,
    )


def _is_over_time(test: AnyTest) -> bool:
    return test.kind in ("change", "variability") or (isinstance(test, Trend) and test.over == "time")


def plan_names(article: Article, only: Sequence[str] = ()) -> list[str]:
    """In the order in which claims need them."""
    claims = [claim for claim in article.tested if not only or claim.id in only]
    return list(dict.fromkeys(test.plan or claim.plan for claim in claims for test in claim.all_tests))


def _parts(claim: Claim, plans: Mapping[str, PlanMeasured], where: str) -> list[tuple[AnyTest, Part]]:
    found: list[tuple[AnyTest, Part]] = []
    for test in claim.all_tests:
        plan, place = plans[test.plan or claim.plan], f"{where}, claim {claim.id}, {test.kind}"
        cells = Cells(plan.record, place, plan.skipped)
        try:
            objective = metric(test.measure or claim.measure, plan.record.rates)
        except UnknownMetric as error:
            raise PlanError(str(error), where=f"{where}, claim {claim.id}, measure", hint=error.hint) from None
        measured = Measured(cells, objective, plan.bundle, plan.why or "not run")
        if out := _left_out(test, plan.skipped):
            found.append((test, Part(test.kind, "", Open(out))))
            continue
        try:
            for one in _each(test, cells):
                found += [(one, part) for part in KINDS[one.kind](one, measured)]
        except NotHere as error:
            found.append((test, Part(test.kind, "", Open(str(error)))))
    return found


def _left_out(test: AnyTest, skipped: Mapping[str, str]) -> str:
    """Why "all" would be fewer systems than the plan has: one was skipped, and the test names none."""
    own = test.model_dump()
    sides = [one for key in ("of", "against", "where") for one in _selections(own.get(key))]
    varied = "system" in (test.each, own.get("of"), own.get("over"), own.get("same_for"))
    if not skipped or (not varied and sides and all("system" in one for one in sides)):
        return ""
    return "; ".join(f"{name} was skipped: {why}" for name, why in skipped.items())


def _selections(said: object) -> list[dict[str, object]]:
    found = said if isinstance(said, list) else [said]
    return [one for one in found if isinstance(one, dict)]


def _each(test: AnyTest, cells: Cells) -> list[AnyTest]:
    """The test at each level of the factor that it names."""
    if not test.each:
        return [test]
    sides: list[Any] = [one for name in ("of", "where") for one in _selections(getattr(test, name, None))]
    return [_at(test, test.each, level) for level in cells.over(test.each, sides[0] if sides else {})]


def _at(test: AnyTest, factor: str, level: object) -> AnyTest:
    own = test.model_dump(by_alias=False)
    changes = {
        key: [{**one, factor: level} for one in value] if isinstance(value, list) else {**value, factor: level}
        for key, value in own.items()
        if key in ("of", "against", "where") and isinstance(value, dict | list)
    }
    return test.model_copy(update=changes)


def part_found(test: AnyTest, part: Part, alpha: float, parts: int, matters: float) -> PartFound:
    """parts: of the claim. Its interval is that by which the part is decided: at the claim's level where it holds, else
    at its share."""
    question = part.question
    alpha = alpha if question.status(alpha) == "holds" else alpha / parts
    status = question.status(alpha)
    found = PartFound(
        about=part.about, values=part.values, measured="", wanted=part.wanted, status=status, notes=list(part.notes)
    )
    if isinstance(question, Open):
        return found.model_copy(update={"measured": "not judged", "needs": question.why})
    if isinstance(question, Peak):
        assert isinstance(test, PeakTest)
        needs = "" if status != "open" else "more repetitions would leave fewer levels that may be the best"
        return found.model_copy(update={"measured": peak_words(question, test.over, alpha), "needs": needs})
    assert isinstance(question, Within)
    evidence = question.evidence
    low, high = evidence.interval(alpha)
    if isinstance(evidence, Plain):
        ends = [evidence.mean, low, high]
    else:
        assert isinstance(evidence, Evidence)
        if evidence.of == "shares":
            ends = [evidence.log_ratio, low, high]
            said = [f"{100 * end:+.2g}" for end in ends]
            words = f"{said[0]} percentage points ({said[1]} to {said[2]})"
            figures = dict(zip(("estimate", "low", "high"), ends, strict=True))
            return found.model_copy(update={"measured": words, "needs": "" if status != "open" else _MORE} | figures)
        ends = [math.exp(x) for x in (evidence.log_ratio, low, high)]
    shown = alike(ends, part.shown)
    words = f"{shown(ends[0])} ({shown(ends[1])} to {shown(ends[2])})"
    needs = "" if status != "open" else _needs(question, alpha, matters)
    figures = dict(zip(("estimate", "low", "high"), ends, strict=True))
    return found.model_copy(update={"measured": words, "needs": needs} | figures)


def _needs(question: Within, alpha: float, matters: float) -> str:
    """By the noise found and the size that matters, not by what was estimated."""
    if not isinstance(question.evidence, Evidence):
        return _MORE
    low, high = question.evidence.interval(alpha)
    across = [bound for bound in (question.low, question.high) if low <= bound <= high]
    if across and max(high - min(across), max(across) - low) < math.log1p(matters):
        return f"it is at the bound, within {percent_words(matters)}: only many more repetitions would tell the side"
    of_each = [more_repetitions(one, alpha, matters) for one in (question.evidence, question.evidence.whole) if one]
    more = None if None in of_each else max(one for one in of_each if one is not None)
    return more_words(more, f"whether the bound is missed by {percent_words(matters)}")


def _matters(plan: PlanMeasured, part: Part) -> float:
    """Half of what lies between two bounds; else what the plan says."""
    question = part.question
    if isinstance(question, Within) and isinstance(question.evidence, Evidence):
        half = (question.high - question.low) / 2
        if half < 1:  # further apart no number of repetitions is worth naming
            return math.expm1(half)
    return plan.record.matters_ratio or MATTERS_RATIO


def _counts(found: Sequence[ClaimFound]) -> str:
    """ "5 claims: 3 reproduced (1 by analogue), 1 contradicted, 1 not testable"."""
    words = []
    for verdict in SIGNS:
        own = [one for one in found if one.verdict == verdict]
        by = sum(bool(one.analogue) for one in own) if verdict in ("reproduced", "contradicted") else 0
        words += [f"{len(own)} {verdict}{f' ({by} by analogue)' if by else ''}"] if own else []
    return f"{counted(len(found), 'claim', 'claims')}: {', '.join(words)}"


def _used(name: str, plan: PlanMeasured, claims: list[str]) -> PlanUsed:
    bundle = plan.bundle
    measured = ""
    if bundle is not None:
        valid = sum(run.valid for run in bundle.runs)
        machine = f"{bundle.machine.cpu_model}, {counted(bundle.machine.cores, 'core', 'cores')}"
        measured = (
            f"{bundle.info.created[:10]} on {machine}; {valid} of {counted(len(bundle.runs), 'run', 'runs')} valid"
        )
    return PlanUsed(
        name=name,
        file=short(plan.path),
        title=plan.record.title,
        claims=claims,
        bundle=None if bundle is None else str(bundle.folder),
        measured=measured,
        why=plan.why,
    )
