"""Whether the figures of a document can be believed: each by itself, and those of a run against each other.

What is written twice must agree: a rate with its count and window, a count with its histogram, a percentile with the
histogram it was taken from. Limits are as wide as any way of rounding; what lies outside was damaged or changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..analysis.histograms import QUANTILES, HistogramError, keep, rank_of
from ..analysis.percentiles import Distribution, decode, merged_distribution
from ..model.boundary import HistogramDoc, Series, StalenessProbe
from ..model.reads import Example
from ..model.records.run import OperationSummary, Percentiles, RunRecord
from ..model.records.verification import Proof, VerificationRecord
from ..verify.histories import NAMES
from ..verify.isolation import LEVELS, SCHEDULES

#: Every whole number that crosses the boundary fits 64 bits; nothing that is measured comes near.
NUMBER_MAX = 2**64 - 1
DEPTH_MAX = 100
#: Of a schedule: each has a column on a page. Ours have three.
SESSIONS_MAX = 10
#: Of a proof: a page has a row for each statement and a column for each transaction. Ours have some ten.
PROOF_CELLS_MAX = 10_000
#: Letters of a name in a message.
NAME_MAX = 40
#: Of figures that were calculated twice.
_ROUNDING_RATIO = 1e-6
#: Offsets: from the window's start, which may lie before it, of one clock from another, and of a clock set wrong.
_SIGNED = ("at_s", "clock_offset_ns", "by_s")


def bad_number(tree: Any, *, signed: bool) -> str | None:
    """The first number of a JSON tree that is none, in words: "rate_ops_per_s is nan". signed: negative ones are
    allowed (a setting of a server may be one; nothing that is counted or measured is)."""
    if _is_plain(tree):
        return None
    stack: list[tuple[tuple[str, ...], Any]] = [((), tree)]
    while stack:
        place, value = stack.pop()
        if len(place) > DEPTH_MAX:
            return "it nests too deeply"
        if isinstance(value, dict):
            stack += [((*place, str(key)), inner) for key, inner in value.items()]
        elif isinstance(value, list):
            stack += [((*place, str(index)), inner) for index, inner in enumerate(value)]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            name = ".".join(place)
            if not abs(value) <= NUMBER_MAX:
                return f"{name} is not a number" if value != value else f"{name} is impossibly large"
            if value < 0 and not signed and place[-1] not in _SIGNED:
                return f"{name} is {value}, and cannot be negative"
    return None


def _is_plain(tree: Any, depth: int = 0) -> bool:
    """Whether all numbers of the tree are such that nobody asks for their names: nearly always, and quickly said."""
    for value in tree.values() if type(tree) is dict else tree if type(tree) is list else (tree,):
        kind = type(value)
        if kind is int or kind is float:
            if not 0 <= value <= NUMBER_MAX:
                return False
        elif (kind is dict or kind is list) and (depth == DEPTH_MAX or not _is_plain(value, depth + 1)):
            return False
    return True


def contradiction(run: RunRecord) -> str | None:
    """The first figure of a finished run that another one contradicts, in words. A run that failed has no figures."""
    return next(_contradictions(run), None) if run.state == "done" else None


def _contradictions(run: RunRecord) -> Iterator[str]:
    ended = run.ok + sum(run.errors.values())
    achieved = min(run.ok + run.ok_from_warm_up, max(run.due or 0, run.ok))
    if abs(run.rate_ops_per_s * run.window_s - achieved) > 0.5 + _ROUNDING_RATIO * achieved:
        yield f"rate_ops_per_s is {run.rate_ops_per_s:g}, but {achieved} operations ended ok in {run.window_s:g} s"
    if ended and not _close(run.error_ratio, 1 - run.ok / ended):
        yield f"error_ratio is {run.error_ratio:g}, but {ended - run.ok} of {ended} operations failed"
    yield from _counts(run)
    yield from _of_nodes(run)
    yield from _of_clients(run)
    yield from _ratios(run, achieved)
    for index, stage in enumerate(run.stages):
        counts = (
            ("response", stage.response.count, stage.ok + stage.unknown),
            ("service", stage.service.count, stage.ok),
        )
        for name, held, counted in counts:
            if held != counted:
                yield f"stages.{index}.{name}.count is {held}, but {counted} of its operations have one"
    if run.staleness_probe is not None:
        yield from _of_probe(run.staleness_probe)
    for name, document in _histograms(run):
        if words := _of_histogram(document):
            yield f"{name}{words}"
    yield from _of_percentiles("response", run.response)
    yield from _of_headline(run)
    for index, operation in enumerate(run.operations):
        yield from _of_operation(f"operations.{index}", operation, run.series)


def _counts(run: RunRecord) -> Iterator[str]:
    whole = [s for s in run.series if s.part_of is None]
    ok = sum(s.count for s in whole if s.outcome == "ok")
    if run.ok != max(0, ok - run.revoked):
        yield f"ok is {run.ok}, but the series count {ok}, of which {run.revoked} were revoked"
    counted = sum(s.count for s in whole) + run.ok_from_warm_up
    if run.completed < counted:
        yield f"completed is {run.completed}, but the series and `ok_from_warm_up` count {counted}"
    for index, series in enumerate(run.series):
        for name, document in (("response", series.response), ("service", series.service)):
            if document.count != series.count:
                yield f"series.{index}.{name}.count is {document.count}, but the series counts {series.count}"
    waited = sum(s.response.count for s in whole if s.outcome in ("ok", "unknown")) + run.unfinished + run.backlog
    if run.headline.count != waited:
        yield f"headline.count is {run.headline.count}, but {waited} operations were answered or waited"


def _of_nodes(run: RunRecord) -> Iterator[str]:
    """What the series count ended at one of the nodes each, where there are several."""
    if not run.nodes:
        return
    whole = [s for s in run.series if s.part_of is None]
    for name, parts, counted in (
        ("operations", [n.operations for n in run.nodes], sum(s.count for s in whole)),
        ("response.count", [n.response.count for n in run.nodes], sum(s.count for s in whole if s.outcome == "ok")),
    ):
        if sum(parts) != counted:
            yield f"nodes: {name} is {sum(parts)} in all, but the series count {counted}"
    for index, node in enumerate(run.nodes):
        if node.response.count > node.operations:
            yield f"nodes.{index}: {node.response.count} ended ok of {node.operations} operations"
        if node.outcomes and sum(node.outcomes.values()) != node.operations:
            yield f"nodes.{index}: its outcomes count {sum(node.outcomes.values())} of {node.operations} operations"


def _of_clients(run: RunRecord) -> Iterator[str]:
    """All clients together are the run, where the record lists them."""
    if not run.clients:
        return
    for name, parts, whole in (
        ("ok", [c.ok for c in run.clients], run.ok),
        ("completed", [c.completed for c in run.clients], run.completed),
        ("errors", [sum(c.errors.values()) for c in run.clients], sum(run.errors.values())),
        ("headline.count", [c.headline.count for c in run.clients], run.headline.count),
    ):
        if sum(parts) != whole:
            yield f"clients: {name} is {sum(parts)} in all, but the run has {whole}"


def _ratios(run: RunRecord, achieved: int) -> Iterator[str]:
    """What was divided by the window, or by the operations that the rate counts."""
    for name, whole, parts in (
        ("offered_ops_per_s", run.due, run.window_s),
        ("client_cpu_us_per_op", run.client_cpu_s * 1e6, achieved),
        ("server_cpu_us_per_op", None if run.server.cpu_s is None else run.server.cpu_s * 1e6, achieved),
    ):
        expected = whole / parts if whole is not None and parts else None
        stated = getattr(run, name)
        if (stated is None) != (expected is None) or not _close(stated or 0.0, expected or 0.0):
            words = ["not known" if one is None else f"{one:g}" for one in (stated, expected)]
            yield f"{name} is {words[0]}, but computed from its parts it is {words[1]}"


def contradiction_of_verification(record: VerificationRecord) -> str | None:
    """What no experiment can have shown, in words."""
    return next(_of_verification(record), None)


def _of_verification(record: VerificationRecord) -> Iterator[str]:
    if record.not_applicable and (record.schedules or record.judged):
        yield "experiments, although none could be tried"
    if not record.not_applicable and not record.schedules and not record.judged:
        yield "no experiment"
    if len(set(record.cells)) < len(record.cells):
        yield "a cell is there twice"
    for names, known in (
        ([one.name for one in record.schedules], SCHEDULES),
        ([one.name for one in record.judged], NAMES),
        (record.allowed or [], SCHEDULES),
    ):
        if len(names) > len(known):
            yield f"{len(names):,} experiments, and bakeoff has {len(known)}"
        if strange := [name for name in names if name not in known or names.count(name) > 1]:
            yield f"`{strange[0][:NAME_MAX]}` is no experiment of bakeoff's, or there twice"
    for judged in record.judged:
        if judged.implied and judged.implied not in LEVELS:
            yield f"`{judged.implied[:NAME_MAX]}` is no level"
        yield from _of_proofs(judged.proofs)
    for one in record.schedules:
        if not one.tries:
            yield f"{one.name} without a try"
        for tried in one.tries:
            sessions = {step.session for step in tried.steps}
            if not 1 <= tried.transactions <= SESSIONS_MAX or not 0 <= tried.committed <= tried.transactions:
                yield f"{tried.committed} of {tried.transactions} transactions of {one.name} committed"
            elif not sessions <= set(range(1, tried.transactions + 1)):
                yield f"{one.name} has {tried.transactions} sessions, and steps of others"


def _of_probe(probe: StalenessProbe) -> Iterator[str]:
    if probe.report is not None:
        yield from _of_proofs([finding.proof for finding in probe.report.findings])


def _of_proofs(proofs: Sequence[Proof | Example]) -> Iterator[str]:
    for proof in proofs:
        columns, rows = len(proof.transactions), max((len(one.statements) for one in proof.transactions), default=0)
        if columns * rows > PROOF_CELLS_MAX:
            yield f"a proof of {columns:,} transactions with up to {rows:,} statements"


def _histograms(run: RunRecord) -> Iterator[tuple[str, HistogramDoc]]:
    yield "headline", run.headline
    yield "lateness", run.lateness
    yield "pool_wait", run.pool_wait
    for index, series in enumerate(run.series):
        yield f"series.{index}.response", series.response
        if series.service != series.response:  # in a closed loop they are the same
            yield f"series.{index}.service", series.service
    for index, node in enumerate(run.nodes):
        yield f"nodes.{index}.response", node.response
    for index, client in enumerate(run.clients):
        yield f"clients.{index}.headline", client.headline
    for index, probe in enumerate(run.latency_probe):
        yield f"latency_probe.{index}.service", probe.service
    for index, stage in enumerate(run.stages):
        yield f"stages.{index}.response", stage.response
        yield f"stages.{index}.service", stage.service


def _of_histogram(document: HistogramDoc) -> str | None:
    """What speaks against a histogram's summary, to be put after its name."""
    if document.count == 0:
        return None
    try:
        found = decode(document)
    except HistogramError as error:
        return f".hdr: {error}"
    keep(found, document.hdr)
    ranks = [rank_of(q, found.count) for q in QUANTILES.values()]
    # The value of an adjacent rank passes, too: ranks can be rounded in several ways.
    near = np.array([(max(1, rank - 1), min(found.count, rank + 1)) for rank in ranks]).ravel()
    edges_ns = found.edges_ns(np.append(np.searchsorted(found.reached, near), (0, found.counts.size - 1)))
    *low_ns, first_low, last_low = edges_ns[0].tolist()
    *high_ns, first_high, last_high = edges_ns[1].tolist()
    if not first_low <= document.min_ns <= first_high:
        return f".min_ns is {document.min_ns}, but its smallest value is about {first_low}"
    if document.out_of_range > found.counts[-1]:
        return f".out_of_range is {document.out_of_range}, but {found.counts[-1]} values are that large"
    if not last_low <= document.max_ns or (document.max_ns > last_high and not document.out_of_range):
        return f".max_ns is {document.max_ns}, but its largest value is about {last_high}"
    least, most = found.mean_edges_ns()
    if not least * (1 - _ROUNDING_RATIO) <= document.mean_ns <= most * (1 + _ROUNDING_RATIO):
        return f".mean_ns is {document.mean_ns:g}, but its values have a mean of about {least:g}"
    for name, low, high, says in zip(QUANTILES, low_ns[::2], high_ns[1::2], high_ns[::2], strict=True):
        value_ns = getattr(document, f"{name}_ns")
        if not low <= value_ns <= high:
            return f".{name}_ns is {value_ns}, but the histogram says {says}"
    return None


def _of_percentiles(name: str, percentiles: Percentiles) -> Iterator[str]:
    stated = [(each, getattr(percentiles, f"{each}_ms")) for each in (*QUANTILES, "max")]
    rising = [(each, value) for each, value in stated if value is not None]
    for (low, low_ms), (high, high_ms) in pairwise(rising):
        if low_ms > high_ms * (1 + _ROUNDING_RATIO):
            yield f"{name}.{low}_ms is {low_ms:g}, above {high}_ms, {high_ms:g}"


def _of_headline(run: RunRecord) -> Iterator[str]:
    """`response` against the distribution it was taken from. What is not stated (overloaded) needs no check."""
    waited = decode(run.headline)
    spread = Distribution(waited, run.failures, run.revoked)
    expected: dict[str, float | None] = {each: spread.value_ns(q) for each, q in QUANTILES.items()}
    expected |= {"max": waited.max_ns, "mean": waited.mean_ns()}
    for each, value_ns in expected.items():
        value_ms = getattr(run.response, f"{each}_ms")
        if value_ms is None or (value_ns is not None and _close(value_ms * 1e6, value_ns)):
            continue
        if each in ("max", "mean"):  # those of a bundle from before they counted failed operations have passed
            whole = merged_distribution([run])
            value_ns = (whole.longest() if each == "max" else whole.mean()).value_ns
        if value_ns is None or not _close(value_ms * 1e6, value_ns):
            words = "not defined" if value_ns is None else f"{value_ns / 1e6:g}"
            yield f"response.{each}_ms is {value_ms:g}, but by `headline` it is {words}"


def _of_operation(name: str, operation: OperationSummary, series: list[Series]) -> Iterator[str]:
    own = [s for s in series if (s.operation, s.part_of) == (operation.operation, operation.part_of)]
    for outcome, count in (("ok", operation.ok), *operation.errors.items()):
        counted = sum(s.count for s in own if s.outcome == outcome)
        if count != counted:
            yield f"{name}: {count} {operation.operation} ended {outcome}, but the series count {counted}"
    yield from _of_percentiles(f"{name}.response", operation.response)


def _close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=_ROUNDING_RATIO, abs_tol=_ROUNDING_RATIO)
