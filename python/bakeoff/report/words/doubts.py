"""What is said of disturbed and lost runs, how to continue a bundle, and what was not tested: "valid" says that nothing
spoke against a run, not that everything was checked."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from ...analysis.validity.disturbance import OTHER_PROCESSES
from ...analysis.validity.steady import SECONDS_MIN
from ...analysis.wording import counted
from ...bundle.read import Bundle
from ...findings.in_bundle import Findings
from ...findings.runs import (
    _by_kind,
    causes_words,
    invalid_runs_words,
    median_words,
    of_runs,
    too_few_undisturbed,
    worst_words,
)
from ...model.records.plan import PlanRecord
from ...model.records.run import RunRecord, Validity, by_place

_DO = {
    OTHER_PROCESSES.name: "stop what runs there",
    "hypervisor": "use a machine of your own",
    "swapping": "free memory",
    "throttling": "stop what shares the control group",
    "stall": "find out what froze the machine",
    "another run": "wait for the other run",
}


def disturbed_sentences(bundle: Bundle, runs: Mapping[str, Sequence[RunRecord]]) -> list[str]:
    """The headline's first sentences, where there is something to say. runs: by cell, those that count or stand where
    none does."""
    attempts, shown = bundle.attempts, [run for of_cell in runs.values() for run in of_cell]
    if marked := [run for run in shown if run.is_marked]:
        return [f"Disturbed runs count here (--allow-disturbed): {_words(marked, len(shown))}."]
    left = [run for run in shown if run.standing == "disturbed"]
    repeated = _repeated_words(attempts)
    if not left:
        return [f"{repeated}."] if repeated else []
    if not any(too_few_undisturbed(of_cell) for of_cell in runs.values()):
        return [f"{_words(left, len(shown))}; they are left out{f'. {repeated}' if repeated else ''}."]
    first = f"This machine was too busy to measure: {_words(left, len(shown))}"
    invalid = invalid_runs_words(shown)  # what a system did must not pass for what was done to it
    return [
        f"{first}. {repeated + '. ' if repeated else ''}{_advice(bundle, left)}.",
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


def _repeated_words(attempts: Sequence[RunRecord]) -> str:
    """ "3 disturbed runs were repeated (other processes, at worst 85 %)"."""
    places = by_place(attempts).values()
    repeated = [run for of_place in places for run in of_place[:-1] if run.standing == "disturbed"]
    if not repeated:
        return ""
    return f"{counted(len(repeated), 'disturbed run was', 'disturbed runs were')} repeated ({causes_words(repeated)})"


def _words(disturbed: Sequence[RunRecord], of: int) -> str:
    """ "5 of 8 runs were disturbed (85 % of the CPU time went to other processes, most to cc1plus, pid 7, in the worst
    of them; 40 % in the median one)"."""
    main = _main_kind(disturbed)
    said = worst_words(main).partition(" (from ")[0]
    median = median_words(main)
    inner = f"in the worst of them {said}{f', in the median one {median}' if median else ''}"
    others = len({found.name for run in disturbed for found in run.disturbances}) - 1
    more = f"; and {counted(others, 'other kind', 'other kinds')} of disturbance" if others else ""
    return f"{of_runs(len(disturbed), of)} {'was' if of == 1 else 'were'} disturbed ({inner}{more})"


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
    return f"`{shlex.join([*words, '--resume', folder, *more])}`"


#: By the name of the check; of those that a reader takes for granted.
_WORDS = {
    "steady state": "steady state could not be judged",
    "integrity": "the data were not checked",
    "other processes": "whether other processes slowed it was not judged",
    "client": "whether the client was the limit was not judged",
}


def untested_words(plan: PlanRecord, runs: Sequence[RunRecord]) -> list[str]:
    """ "Steady state could not be judged (windows of 20 s; 30 s are needed)." """
    valid = [run for run in runs if run.valid]
    counts = {name: sum(v.name == name and v.ok is None for run in valid for v in run.validity) for name in _WORDS}
    clauses = [_clause(name, count, len(valid), plan) for name, count in counts.items() if count]
    words = "; ".join(clauses)
    return [f"{words[:1].upper()}{words[1:]}."] if words else []


def _clause(name: str, count: int, runs: int, plan: PlanRecord) -> str:
    window_s = plan.window_s
    if name == "steady state" and window_s is not None and window_s < SECONDS_MIN:
        return f"{_WORDS[name]} (windows of {window_s:g} s; {SECONDS_MIN} s are needed)"
    return _WORDS[name] if count == runs else f"{_WORDS[name]} in {count} of {counted(runs, 'run', 'runs')}"


def worst_doubt(found: Findings) -> str:
    """The one thing that endangers the answer most, as a clause; "" where nothing speaks against it."""
    plan, info, runs = found.bundle.plan, found.bundle.info, found.bundle.runs
    marked = sum(run.is_marked for run in runs)
    busy = [run for of_cell in found.runs.values() for run in of_cell if run.standing == "disturbed"]
    if marked:
        return f"disturbed runs count ({of_runs(marked, len(runs))})"
    if busy and any(cell.too_few_undisturbed for cell in found.cells):
        return f"this machine was too busy to measure ({causes_words(busy)})"
    if found.bundle.unreadable_runs:
        return f"results are missing: {found.bundle.unreadable_runs[0]}"
    if found.doubts:
        first = found.doubts[0]
        return f"{first.name}: {first.words.partition(' (')[0]} ({of_runs(first.runs, first.of_runs)})"
    deciding = [one.name for one in found.undeclared if one.deciding]
    if deciding:
        differ = f"{' and '.join(deciding[:2])} differ{'s' if len(deciding) == 1 else ''}"
        return f"{differ} between the systems, which the plan does not declare"
    return "this is a demonstration: short runs on a shared machine" if plan.demonstration or info.demonstration else ""
