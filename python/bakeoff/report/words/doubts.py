"""What is said of disturbed and lost runs, how to continue a bundle, and what was not tested: "valid" says that nothing
spoke against a run, not that everything was checked."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from itertools import pairwise

from ...analysis.validity.disturbance import OTHER_PROCESSES
from ...analysis.validity.steady import SECONDS_MIN
from ...analysis.wording import counted
from ...bundle.read import Bundle
from ...findings.contestants import amount, factor_words
from ...findings.in_bundle import Findings
from ...findings.limits_and_searches.evidence import Verdict
from ...findings.runs import (
    _by_kind,
    causes_words,
    invalid_runs_words,
    median_words,
    of_runs,
    worst_words,
)
from ...model.peers import peer_words
from ...model.records.plan import PlanRecord, Scalar
from ...model.records.run import RunRecord, Validity, by_place
from .answer_sentence import is_answered_by_shapes
from .promises import violation_clauses

_DO = {
    OTHER_PROCESSES.name: "stop what runs there",
    "hypervisor": "use a machine of your own",
    "swapping": "free memory",
    "throttling": "stop what shares the control group",
    "stall": "find out what froze the machine",
    "another run": "wait for the other run",
}


def disturbed_sentences(bundle: Bundle, runs: Mapping[str, Sequence[RunRecord]], *, too_busy: bool) -> list[str]:
    """The headline's first sentences, where there is something to say. runs: by cell, those that count or stand where
    none does. too_busy: whether disturbance left some cell too few."""
    attempts, shown = bundle.attempts, [run for of_cell in runs.values() for run in of_cell]
    if marked := [run for run in shown if run.is_marked]:
        return [f"Disturbed runs count here (--allow-disturbed): {_words(marked, len(shown))}."]
    left = [run for run in shown if run.standing == "disturbed"]
    repeated = _repeated(attempts)
    if not left:
        were = counted(len(repeated), "disturbed run was", "disturbed runs were")
        return [f"{were} repeated ({causes_words(repeated)})."] if repeated else []
    words = _words(left, len(shown), repeats=len(repeated))
    if not too_busy:
        return [f"{words}; they are left out."]
    invalid = invalid_runs_words(shown)  # what a system did must not pass for what was done to it
    return [
        f"This machine was too busy to measure: {words}. {_advice(bundle, left)}.",
        *([f"{invalid}: --resume does not repeat that."] if invalid else []),
    ]


def lost_sentences(bundle: Bundle, runs: Mapping[str, Sequence[RunRecord]]) -> list[str]:
    """Of runs that infrastructure failed to the last attempt. Arguments: see `disturbed_sentences`."""
    shown = [run for of_cell in runs.values() for run in of_cell]
    lost = [run for run in shown if run.was_lost]
    if not lost:
        return []
    plan, made = bundle.plan, sum(run.attempt > 1 for run in bundle.attempts)
    repeats = "all repeats are used up" if made >= plan.repeats_max else "repeats are left"
    why = lost[-1].failure.partition("; hint: ")[0]
    return [
        f"Lost to infrastructure, through no fault of a system: {of_runs(len(lost), len(shown))} ({why}); {repeats}"
        f" ({made} of {plan.repeats_max} were made)."
        f" {resume_words(bundle)} makes what was lost again."
    ]


def _repeated(attempts: Sequence[RunRecord]) -> list[RunRecord]:
    """Disturbed attempts that were not the last at their place."""
    places = by_place(attempts).values()
    return [run for of_place in places for run in of_place[:-1] if run.standing == "disturbed"]


def _words(disturbed: Sequence[RunRecord], of: int, repeats: int = 0) -> str:
    """ "5 of 8 runs were disturbed, even after 20 repeats (worst run: 85 % of the CPU time went to other processes,
    most to cc1plus, pid 7; median run: 40 %; also: swapping)"."""
    main = _main_kind(disturbed)
    said = worst_words(main).partition(" (from ")[0]
    median = median_words(main)
    inner = f"worst run: {said}; median run: {median}" if median else said
    others = [name for name in _by_kind(disturbed) if name != main[0].name]
    more = f"; also: {', '.join(others)}" if others else ""
    after = f", even after {counted(repeats, 'repeat', 'repeats')}" if repeats else ""
    return f"{of_runs(len(disturbed), of)} {'was' if len(disturbed) == 1 else 'were'} disturbed{after} ({inner}{more})"


def _main_kind(disturbed: Sequence[RunRecord]) -> list[Validity]:
    """The findings of the kind that disturbed most of them."""
    return max(_by_kind(disturbed).values(), key=len)


def _advice(bundle: Bundle, left: Sequence[RunRecord]) -> str:
    """What to do; more repeats where those of the plan are used up."""
    made = sum(run.attempt > 1 for run in bundle.attempts)
    more = ["--set", f"measure.repeat_disturbed={made + len(left)}"] if made >= bundle.plan.repeats_max else []
    do = _DO[_main_kind(left)[0].name]
    resume = resume_words(bundle, "--wait-until-quiet", *more)
    return f"Nothing is claimed. {do.capitalize()}, then {resume} repeats the disturbed runs when it is quiet"


#: In a recorded command: of a plan that has no file of its own the bundle has the only copy.
BUNDLE = "BUNDLE"


def resume_words(bundle: Bundle, *more: str) -> str:
    """As the bundle was begun, with its plans and thresholds: "`bakeoff run my.toml --resume my-bundle`"."""
    words = shlex.split(bundle.info.command) or ["bakeoff", "run", f"{BUNDLE}/plan.toml"]
    folder = str(bundle.folder)
    words = [word.replace(BUNDLE, folder, 1) if word.startswith(f"{BUNDLE}/") else word for word in words]
    keys = {value.partition("=")[0] for option, value in pairwise(more) if option == "--set"}
    again = [
        n for n, (option, said) in enumerate(pairwise(words)) if option == "--set" and said.partition("=")[0] in keys
    ]
    words = [word for n, word in enumerate(words) if n not in again and n - 1 not in again]
    return f"`{shlex.join([*words, '--resume', folder, *more])}`"


#: By the name of the check; of those that a reader takes for granted.
_WORDS = {
    "integrity": "the data were not checked",
    "steady state": "steady state could not be judged",
    "other processes": "whether other processes slowed it was not judged",
    "client": "whether the client was the limit was not judged",
}


def untested_words(plan: PlanRecord, runs: Sequence[RunRecord]) -> list[str]:
    """ "Steady state could not be judged (windows of 20 s; 30 s are needed)." """
    valid = [run for run in runs if run.valid]
    counts = {name: sum(v.name == name and v.ok is None for run in valid for v in run.validity) for name in _WORDS}
    clauses = [_clause(name, count, len(valid), plan) for name, count in counts.items() if count]
    return [f"{words[:1].upper()}{words[1:]}." for words in clauses]


def _clause(name: str, count: int, runs: int, plan: PlanRecord) -> str:
    window_s = plan.window_s
    if name == "steady state" and window_s is not None and window_s < SECONDS_MIN:
        return f"{_WORDS[name]} (windows of {window_s:g} s; {SECONDS_MIN} s are needed)"
    return _WORDS[name] if count == runs else f"{_WORDS[name]} in {count} of {counted(runs, 'run', 'runs')}"


def main_doubts(found: Findings) -> str:
    """What endangers the answer most, as a clause: whose figures they are not, which promises are violated, of the
    runs or the systems, and of the levels that were not measured; "" where nothing speaks against it."""
    peers, broken = peer_words(found.bundle.plan.cells), violation_clauses(found.promises)
    return "; ".join(filter(None, (*peers, *broken, _worst_doubt(found), _unmeasured_words(found))))


def _worst_doubt(found: Findings) -> str:
    plan, info, runs = found.bundle.plan, found.bundle.info, found.bundle.runs
    marked = sum(run.is_marked for run in runs)
    busy = [run for of_cell in found.runs.values() for run in of_cell if run.standing == "disturbed"]
    if marked:
        return f"disturbed runs count ({of_runs(marked, len(runs))})"
    if busy and found.too_busy:
        return f"this machine was too busy to measure ({causes_words(busy)})"
    if found.bundle.unreadable_runs:
        return f"results are missing: {found.bundle.unreadable_runs[0]}"
    if found.doubts:
        first = found.doubts[0]
        return f"{first.words.partition(' (')[0]} ({of_runs(first.runs, first.of_runs)})"
    deciding = [one.name for one in found.undeclared if one.deciding]
    if deciding:
        differ = f"{' and '.join(deciding[:2])} differ{'s' if len(deciding) == 1 else ''}"
        return f"{differ} between the systems, which the plan does not declare"
    return "this is a demonstration: short runs on a shared machine" if plan.demonstration or info.demonstration else ""


#: Gaps that are named one by one.
GAPS_MAX = 2


def _unmeasured_words(found: Findings) -> str:
    """ "the peak may lie beyond 32 threads", "nothing was measured between 8 and 32 threads": where the level that the
    answer names could lie instead; "" where pairs are the answer, and of a search, which tries what it needs."""
    if found.search is not None:
        return ""
    beyond: list[str] = []
    gaps: list[tuple[str, Scalar, Scalar]] = []
    if found.held:
        for one in found.held:
            last = _last_that_holds([level.verdict for level in one.levels])
            if one.axis and last is not None:
                gaps += _gaps(one.axis, [level.level for level in one.levels[last : last + 2]])
    elif is_answered_by_shapes(found):
        for shape in found.shapes:
            levels = [level.level for level in shape.levels]
            places = [levels.index(level) for level in (*shape.best, shape.top)]
            first, last = min(places), max(places)
            what = "peak" if shape.direction == "higher" else "minimum"
            if last == len(levels) - 1 and not _is_most(found, shape.axis, levels[last]):
                beyond.append(f"the {what} may lie beyond {factor_words(shape.axis, levels[last])}")
            elif first == 0 and not _is_least(levels[0]):
                beyond.append(f"the {what} may lie below {factor_words(shape.axis, levels[0])}")
            else:
                gaps += _gaps(shape.axis, levels[max(0, first - 1) : last + 2])
    return " and ".join([*dict.fromkeys(beyond)][:GAPS_MAX] or _gap_words(list(dict.fromkeys(gaps))))


def _last_that_holds(verdicts: Sequence[Verdict]) -> int | None:
    """The place of the last level up to which a limit holds; None where it holds nowhere, or everywhere."""
    holds = [verdict == "yes" for verdict in verdicts]
    return holds.index(False) - 1 if holds and holds[0] and not all(holds) else None


def _gap_words(gaps: Sequence[tuple[str, Scalar, Scalar]]) -> list[str]:
    named = [f"between {factor_words(*gap, between=' and ')}" for gap in gaps[:GAPS_MAX]]
    return [f"nothing was measured {' or '.join(named)}"] if named else []


def _gaps(axis: str, levels: Sequence[Scalar | None]) -> list[tuple[str, Scalar, Scalar]]:
    """Of adjacent levels those between which there are more: next to 7 threads there are 8."""
    return [
        (axis, low, high)
        for low, high in pairwise(levels)
        if low is not None and high is not None and not _are_next(low, high)
    ]


def _are_next(low: Scalar, high: Scalar) -> bool:
    return isinstance(low, int) and isinstance(high, int) and abs(high - low) <= 1


def _is_most(found: Findings, axis: str, level: Scalar) -> bool:
    """Nothing lies beyond: a share of all, or a session for each thread."""
    threads = (cell.threads for cell in found.contest.plan.cells)
    return level == 1.0 or (axis == "sessions" and level == max(threads, default=None))


def _is_least(level: Scalar) -> bool:
    """Nothing lies below: one thread, a share of nothing."""
    return (amount(level) or 0) <= 0 or (isinstance(level, int) and level == 1)
