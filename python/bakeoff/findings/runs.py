"""The runs of a cell together: which of them are shown, what made their load, what speaks against them."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from ..analysis.estimate import REPETITIONS_MIN
from ..analysis.validity.checks import ERRORS, OPERATIONS
from ..analysis.wording import counted, percent_words
from ..model.boundary import Document
from ..model.records.plan import CellRecord
from ..model.records.run import RunRecord, Severity, Validity

_WORST_FIRST = ("invalid", "disturbed", "warning")


def runs_by_cell(runs: Iterable[RunRecord]) -> dict[str, list[RunRecord]]:
    """Ordered by block; a cell without runs has an empty list."""
    grouped: dict[str, list[RunRecord]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.block):
        grouped[run.cell].append(run)
    return grouped


def used_runs(runs: Sequence[RunRecord]) -> list[RunRecord]:
    """Those whose figures are shown: the valid ones, or all finished ones if none is valid."""
    return [run for run in runs if run.valid] or [run for run in runs if run.state == "done"]


def that_count(runs: Iterable[RunRecord], hit: Collection[int] = ()) -> list[RunRecord]:
    """Those that say something of the system, well or ill; a disturbed run says nothing. hit: blocks that are left
    out, see `hit_together`."""
    return [run for run in runs if run.block not in hit and (run.valid or run.standing != "disturbed")]


def hit_together(cells: Iterable[CellRecord], runs: Mapping[str, Sequence[RunRecord]]) -> set[int]:
    """Blocks in which every run is invalid for the same cause, whatever the system: that was something else than any of
    them. With a single system it may have been the system."""
    systems = {cell.id: cell.system for cell in cells}
    if len(set(systems.values())) < 2:
        return set()
    by_block: dict[int, list[RunRecord]] = defaultdict(list)
    for run in (run for made in runs.values() for run in made):
        by_block[run.block].append(run)
    return {
        block
        for block, made in by_block.items()
        if not any(run.valid for run in made)
        and len({causes(run) for run in made}) == 1
        and len({systems[run.cell] for run in made}) > 1
    }


def too_few_undisturbed(runs: Sequence[RunRecord]) -> bool:
    """Of one cell: whether disturbance left it fewer runs than a claim needs."""
    return len(that_count(runs)) < min(len(runs), REPETITIONS_MIN)


def clients_of(runs: Iterable[RunRecord]) -> list[str]:
    """What spoke to the system, each way once: "wire, reactor, io_uring". Sorted: runs come in an order of chance."""
    ways = (", ".join(filter(None, (run.client, run.runner, run.io))) for run in runs)
    return sorted({way for way in ways if way})


class Doubt(Document):
    """One kind of thing that speaks against some of the runs of a cell, or of a bundle. name: of the check. runs: how
    many it touches, of of_runs. often: that in words. words: of the run that has it worst. which: what that run is to
    the others, "at worst" or "for example"; "" where all say the same. median: the figure of the median run; "" where
    there is none."""

    name: str
    severity: Severity
    runs: int
    of_runs: int
    often: str
    words: str
    which: str = ""
    median: str = ""

    @property
    def sentence(self) -> str:
        """ "warning: client (3 of 5 runs), at worst: ... (in the median run 11 %)"."""
        which = f", {self.which}" if self.which else ""
        median = f" (in the median run {self.median})" if self.median else ""
        return f"{self.severity}: {self.name} ({self.often}){which}: {self.words}{median}"


def doubts_about(runs: Sequence[RunRecord]) -> list[Doubt]:
    """Each kind once, the worst severity first."""
    found: dict[tuple[Severity, str], list[Validity]] = defaultdict(list)
    for run in runs:
        if run.state == "failed":
            name = "run lost" if run.was_lost else "run failed"
            found["invalid", name].append(Validity(name=name, severity="invalid", ok=False, words=failure_words(run)))
        for v in run.validity:
            if v.ok is False and v.severity != "note":
                found[v.severity, v.name].append(v)
    return [
        Doubt(
            name=name,
            severity=severity,
            runs=len(of_kind),
            of_runs=len(runs),
            often=of_runs(len(of_kind), len(runs)),
            words=worst_words(of_kind),
            which=_which(of_kind),
            median="" if _are_alike(of_kind) else median_words(of_kind),
        )
        for (severity, name), of_kind in sorted(found.items(), key=lambda item: _WORST_FIRST.index(item[0][0]))
    ]


def _which(found: Sequence[Validity]) -> str:
    if _are_alike(found):
        return ""
    return "for example" if all(one.value is None for one in found) else "at worst"


def _are_alike(found: Sequence[Validity]) -> bool:
    return all(one.words == found[0].words for one in found)


def counted_words(runs: Sequence[RunRecord]) -> str:
    """ "60 of 60 runs valid"; where disturbed runs count "24 of 24 runs count, 6 of them disturbed"."""
    valid, marked = sum(run.valid for run in runs), sum(run.is_marked for run in runs)
    left = sum(run.standing == "disturbed" and not run.valid for run in runs)
    of = f"{valid} of {counted(len(runs), 'run', 'runs')}"
    if marked:
        if valid == 1:
            return f"{of} counts, disturbed"
        return f"{of} count, {'all' if marked == valid else f'{marked} of them'} disturbed"
    return f"{of} valid{f', {left} disturbed' if left else ''}"


def of_runs(count: int, runs: int) -> str:
    """ "1 of 5 runs", "all 5 runs"."""
    return f"all {runs} runs" if count == runs > 1 else f"{count} of {counted(runs, 'run', 'runs')}"


def worst(found: Sequence[Validity]) -> Validity:
    """The first of those that have no figure: older bundles kept none."""
    return max(found, key=lambda one: -1.0 if one.value is None else one.value)


def worst_words(found: Sequence[Validity]) -> str:
    return worst(found).words


def median_words(found: Sequence[Validity]) -> str:
    """ "11 %"; "" where there are too few figures for a median to say more than the worst does."""
    known = sorted((one for one in found if one.value is not None), key=lambda one: one.value or 0.0)
    if len(known) < 3 or len(known) < len(found):
        return ""
    middle = known[(len(known) - 1) // 2].value_words
    return "" if middle == known[-1].value_words else middle


#: Of all operations, or of those that failed.
_MOSTLY = 0.5
#: Of a server's words in a sentence of ours.
_MESSAGE_CHARS = 160


def causes(run: RunRecord) -> frozenset[str]:
    """Names of the checks that make the run invalid; "run failed" where it could not be completed."""
    return frozenset(_reasons(run)) or frozenset({"run failed"})


def failure_words(run: RunRecord) -> str:
    """Of a run that could not be completed. run: its last attempt."""
    if not run.was_lost:
        return run.failure
    times = f", in all {run.attempt} attempts; the last time" if run.attempt > 1 else ""
    return f"infrastructure failed, not the system{times}: {run.failure}"


def no_valid_run_words(runs: Sequence[RunRecord], error_budget_ratio: float, abort_ratio: float | None) -> str:
    """ "31 of 31 operations failed"; "" where a run is valid, or where there is none at all. abort_ratio: of the
    typical repetition's attempts."""
    if not runs or any(run.valid for run in runs):
        return ""
    if disturbed := [run for run in runs if run.standing == "disturbed"]:
        rest = [run for run in runs if run.standing != "disturbed"]
        nothing = [words for run in disturbed if (words := _reasons(run).get(OPERATIONS))][:1]
        return "; ".join([*nothing, disturbed_words(disturbed), *([_why(rest)] if rest else [])])
    if not all(ERRORS in _reasons(run) for run in runs):
        return _why(runs)
    others = {cause: words for run in reversed(runs) for cause, words in _reasons(run).items() if cause != ERRORS}
    if others:
        return "; ".join([*others.values(), _reasons(runs[0])[ERRORS]]) + _first_error(runs, ERRORS)
    return _beyond_budget_words(runs, error_budget_ratio, abort_ratio) + _first_error(runs, ERRORS)


def _beyond_budget_words(runs: Sequence[RunRecord], budget_ratio: float, abort_ratio: float | None) -> str:
    """Where most of the work was done, what the plan can say of the rest, too."""
    failed = sum(sum(run.errors.values()) for run in runs)
    conflicts = sum(run.errors.get("fail_conflict", 0) for run in runs)
    asked = failed + sum(run.ok for run in runs)
    faults = any(run.error_ratio_outside_faults is not None for run in runs)
    if failed > asked * _MOSTLY and not faults:
        return f"{failed:,} of {asked:,} operations failed"
    in_conflict = conflicts > failed * _MOSTLY
    retried = " after retries" if any(run.retries for run in runs) else ""
    ended = f"ended in conflict{retried}" if in_conflict else "failed"
    if faults:  # what ended while they were felt is in the counts, and not judged
        ended = "outside of the planned faults did not end ok"
    aborted = f"; {percent_words(abort_ratio)} of the attempts were aborted" if in_conflict and abort_ratio else ""
    cure = "raise error_budget and --resume" + (", or retry more" if in_conflict else " if that is part of the work")
    budget = percent_words(budget_ratio)
    return f"{_share_words(runs)} of the operations {ended}, the budget is {budget}: {cure}{aborted}"


def _share_words(runs: Sequence[RunRecord]) -> str:
    """Of operations that did not end ok, as each run's own validity says it: from the least to the most."""
    ratios = [run.budgeted_error_ratio for run in runs]
    return " to ".join(dict.fromkeys(map(percent_words, (min(ratios), max(ratios)))))


def disturbed_words(runs: Sequence[RunRecord]) -> str:
    """ "85 % of the CPU time went to other processes, most to cc1plus, pid 7 (from 10 % on a run is disturbed)": of the
    run that was disturbed most."""
    return worst_words([v for run in runs for v in run.disturbances])


def invalid_runs_words(runs: Sequence[RunRecord]) -> str:
    """ "3 of 10 runs were invalid (the server died or froze during the run)"; "" where all are valid or disturbed."""
    invalid = [run for run in runs if run.standing == "invalid"]
    if not invalid:
        return ""
    were = "was" if len(invalid) == 1 else "were"
    return f"{len(invalid)} of {counted(len(runs), 'run', 'runs')} {were} invalid ({_why(invalid)})"


def _why(runs: Sequence[RunRecord]) -> str:
    """The first run's reason."""
    for run in runs:
        if run.failure:
            return failure_words(run)
        for cause, words in _reasons(run).items():
            return words + _first_error([run], cause)
    return "no reason kept"


def _first_error(runs: Sequence[RunRecord], cause: str) -> str:
    """ "; the first: order: Deadlock found (1213)", where operations are the cause and one was kept."""
    if cause not in (ERRORS, "wrong answers"):
        return ""
    samples = [sample for run in runs for sample in run.error_samples]
    wrong = [sample for sample in samples if (sample.outcome == "wrong") == (cause == "wrong answers")]
    if not wrong:
        return ""
    first = wrong[0]
    message = textwrap.shorten(first.message, _MESSAGE_CHARS, placeholder=" ...")
    code = f" ({first.code})" if first.code else ""
    return f"; the first: {first.operation}: {message}{code}"


def _reasons(run: RunRecord) -> dict[str, str]:
    """What made the run invalid: words by the name of the check."""
    return {v.name: v.words for v in run.validity if v.severity == "invalid" and v.ok is False}


def causes_words(disturbed: Sequence[RunRecord]) -> str:
    """ "other processes, at worst 85 %; swapping, at worst 3 MiB/s"."""
    of_kind = _by_kind(disturbed)
    at_worst = {name: worst(found).value_words for name, found in of_kind.items()}
    return "; ".join(name if words.isdigit() else f"{name}, at worst {words}" for name, words in at_worst.items())


def _by_kind(disturbed: Sequence[RunRecord]) -> dict[str, list[Validity]]:
    of_kind: dict[str, list[Validity]] = {}
    for found in (found for run in disturbed for found in run.disturbances):
        of_kind.setdefault(found.name, []).append(found)
    return of_kind


def mark_words(runs: Sequence[RunRecord]) -> str:
    """The mark of a figure of these runs; "" where none of them was disturbed."""
    marked = sum(run.is_marked for run in runs)
    return f"DISTURBED: {of_runs(marked, len(runs))}, and they count (--allow-disturbed)" if marked else ""
