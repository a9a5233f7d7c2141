"""What else differs between two cells: of their runs' metrics and of the server's own counters those that differ most
and most steadily, shown elsewhere or not. A hint at why one is faster, no tested claim: with hundreds of figures some
differ by chance."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from ..analysis.compare import ComparisonAnswer, FigureDiffers
from ..analysis.metric import Metric
from ..analysis.registry import metric
from ..analysis.statistics import t_critical
from ..analysis.wording import signed_words, significant
from ..bundle.read import Bundle
from ..model.boundary import Document
from ..model.records.plan import CellRecord
from ..model.records.run import RunRecord
from .cells import metric_spreads
from .contestants import Contest, setting_words
from .run_values import counters_per_s, observed
from .runs import used_runs


class CellsDiffer(Document):
    """Two adjacent levels of the axis, in words, and what differs most between them. objective_ratio: other / base of
    the typical repetition; None where one has none."""

    contestant: str
    setting_words: str
    base: str
    other: str
    objective_ratio: float | None = None
    figures: list[FigureDiffers]


#: Of each comparison, and of two adjacent levels in a sweep.
HINTS_MAX = 5
BETWEEN_LEVELS_MAX = 3
#: Enough of a cell for a hint: the server's counters of each are in a file of its own.
RUNS_MAX = 100
#: By what they are about: of each kind the one that differs most is named.
_METRICS = {
    "rate": "rate",
    "latency_p99": "tail",
    "latency_p999": "tail",
    "abort_ratio": "retries",
    "retries_per_op": "retries",
    "client_cpu_us_per_op": "client CPU",
    "server_cpu_us_per_op": "server CPU",
    "cpu_us_per_op": "CPU",
    "client_memory_peak_bytes": "client memory",
    "server_memory_peak_bytes": "server memory",
    "memory_peak_bytes": "memory",
    "size_on_disk_bytes": "size",
    "write_bytes_per_op": "writes",
    "write_amplification": "writes",
    "pool_wait_mean": "pool",
}
#: An embedded database is inside the client: only what client and server take together can be compared with it.
_PARTS = {"client CPU", "server CPU", "client memory", "server memory"}
_SUMS = {
    "cpu_us_per_op": metric("cpu_us_per_op"),
    "memory_peak_bytes": replace(
        metric("client_memory_peak_bytes"), name="memory_peak_bytes", label="memory of client and server"
    ),
}
_OF_A_RUN = {name: metric(name) for name in _METRICS if name not in _SUMS}
#: What happens at most so often to one user of a run, and in so few of the operations, belongs to connecting and
#: preparing: there is more of it where there are more users, whatever these do.
_PER_USER_MAX = 10
_PER_OPERATION_MAX = 0.05
#: A counter that grows as fast whatever the rate is one of the clock, or of whoever watches the server each second.
_CLOCK = math.log(1.05)
#: What differs by less per attempt says again that one side tried more often.
_PER_ATTEMPT = math.log(1.1)
_Figures = dict[str, float]


class Differs:
    """Of one bundle. Each run's figures are taken once, when they are first asked for."""

    def __init__(self, contest: Contest, bundle: Bundle, runs: Mapping[str, Sequence[RunRecord]]) -> None:
        self._contest, self._bundle, self._runs = contest, bundle, runs
        self._taken: dict[str, dict[int, _Figures]] = {}

    def beside(self, found: ComparisonAnswer) -> list[FigureDiffers]:
        """What differs besides the objective in one comparison, most first."""
        places = self._contest.cells_at(tuple(found.setting.items()))
        own = _METRICS.get(self._contest.objective.name.partition(".")[0])
        hints = self._hints(places[found.base], places[found.other])
        kinds = {hint.name: _METRICS.get(hint.name, hint.name) for hint in hints}
        first = {kind: name for name, kind in reversed(kinds.items())}
        said = {own, "retries"} if found.failures else {own}  # its sentence has the retries
        kept = [hint for hint in hints if kinds[hint.name] not in said and first[kinds[hint.name]] == hint.name]
        return [_figure_differs(hint) for hint in kept[:HINTS_MAX]]

    def between_levels(self) -> list[CellsDiffer]:
        """Along the axis: the server's counters that moved most from one level to the next, each per operation."""
        contest = self._contest
        if contest.axis is None or not contest.is_swept(contest.axis):
            return []
        found = []
        for contestant, panel in product(contest.contestants, contest.panels):
            cells = [cell for s in contest.along(panel) if (cell := contest.cell(contestant, s)) is not None]
            for base, other in pairwise(cells):
                told = [_figure_differs(hint) for hint in self._hints(base, other) if _is_counter(hint.name)]
                ends = [setting_words(((contest.axis, cell.levels[contest.axis]),)) for cell in (base, other)]
                found.append(
                    CellsDiffer(
                        contestant=contestant,
                        setting_words=setting_words(panel),
                        base=ends[0],
                        other=ends[1],
                        objective_ratio=self._objective_ratio(base, other),
                        figures=told[:BETWEEN_LEVELS_MAX],
                    )
                )
        return found

    def _objective_ratio(self, base: CellRecord, other: CellRecord) -> float | None:
        spreads = [
            metric_spreads(self._bundle, used_runs(self._runs[cell.id]), [self._contest.objective]).get(
                self._contest.objective.name
            )
            for cell in (base, other)
        ]
        values = [spread.value for spread in spreads if spread is not None and spread.value > 0]
        return values[1] / values[0] if len(values) == len(spreads) else None

    def _hints(self, base: CellRecord, other: CellRecord) -> list[Hint]:
        """Over the blocks in which both have a valid run."""
        a, b = self._figures(base), self._figures(other)
        blocks = sorted(a.keys() & b.keys())
        if not blocks:
            return []
        names = [
            name
            for name in (*self._metrics(base, other), *_counters(a))
            if all(name in a[i] and name in b[i] for i in blocks)
        ]
        hints = [hint_of(name, [a[i][name] for i in blocks], [b[i][name] for i in blocks]) for name in names]
        rates = math.prod(b[i]["rate"] / a[i]["rate"] for i in blocks) ** (1 / len(blocks))
        attempts = math.prod(b[i]["attempts"] / a[i]["attempts"] for i in blocks) ** (1 / len(blocks))
        asked = [
            max(figures[i]["operations"] for i in blocks) / (cell.threads * cell.clients)
            for cell, figures in ((base, a), (other, b))
        ]
        kept = [
            hint
            for hint in hints
            if hint is not None
            and not (
                _is_counter(hint.name)
                and (_is_of_the_clock(hint, rates) or _is_of_connecting(hint, asked) or _is_of_attempts(hint, attempts))
            )
        ]
        told = [hint for hint in kept if not _says_what_was_changed(hint.name, base, other)]
        return sorted(told, key=lambda hint: (_place(hint.name), -hint.least))

    def _metrics(self, base: CellRecord, other: CellRecord) -> list[str]:
        """The parts of what client and server take, or where one of the two is embedded the sum."""
        facts = [self._bundle.facts.get(cell.id) for cell in (base, other)]
        embedded = any(each is not None and each.embedded for each in facts)
        named = [name for name, kind in _METRICS.items() if not (kind in _PARTS if embedded else name in _SUMS)]
        offered_alike = base.rate_ops_per_s == other.rate_ops_per_s
        return [name for name in named if name != "rate" or offered_alike]  # two offered rates differ by the plan

    def _figures(self, cell: CellRecord) -> dict[int, _Figures]:
        if cell.id not in self._taken:
            runs = [run for run in self._runs[cell.id] if run.valid and run.rate_ops_per_s > 0][:RUNS_MAX]
            facts = self._bundle.facts.get(cell.id)
            embedded = facts is not None and facts.embedded
            self._taken[cell.id] = {run.block: dict(_figures_of(self._bundle, run, embedded)) for run in runs}
        return self._taken[cell.id]


def _figures_of(bundle: Bundle, run: RunRecord, embedded: bool) -> Iterator[tuple[str, float]]:
    yield "rate", run.rate_ops_per_s
    yield "operations", run.rate_ops_per_s * run.window_s
    yield "attempts", (run.ok + sum(run.errors.values()) + run.retries) / max(run.ok, 1)
    seen = observed(bundle, run)
    for name, one in _OF_A_RUN.items():
        value = one.of(seen)
        if value is not None:
            yield name, value
    yield from _sums_of(run, embedded)
    for column, per_s in counters_per_s(bundle, run).items():
        yield column, per_s / run.rate_ops_per_s


def _sums_of(run: RunRecord, embedded: bool) -> Iterator[tuple[str, float]]:
    """Of client and server, where both are known; an embedded database has no server."""
    parts = {
        "cpu_us_per_op": (run.client_cpu_us_per_op, run.server_cpu_us_per_op),
        "memory_peak_bytes": (run.client_memory_peak_bytes or None, run.server.memory_peak_bytes),
    }
    for name, (client, server) in parts.items():
        server = 0 if embedded else server
        if client is not None and server is not None:
            yield name, client + server


def _place(name: str) -> int:
    """How much was done comes first, then how long it took."""
    return 0 if name == "rate" else 1 if _METRICS.get(name) == "tail" else 2


def _says_what_was_changed(name: str, base: CellRecord, other: CellRecord) -> bool:
    """A counter that is named like a setting, or a level, in which the two differ: compressed pages are compressed."""
    counted = _tokens(name.removesuffix("_per_s"))
    if not _is_counter(name):
        return False
    for factor in (base.levels.keys() | other.levels.keys()) - {"system", "plan"}:
        levels = [str(cell.levels.get(factor, "")) for cell in (base, other)]
        parts = [part for words in (factor.rpartition(".")[2], *levels) for part in words.split(":")]
        if levels[0] != levels[1] and any(one and one <= counted for one in map(_tokens, parts)):
            return True
    return False


def _tokens(words: str) -> set[str]:
    """Those that mean something: "page-compressed:zlib" has "page", "compressed" and "zlib"."""
    found = {word for word in re.split(r"[^a-z]+", words.lower()) if len(word) >= _TOKEN_MIN}
    return found - {"innodb", "threads"}


_TOKEN_MIN = 4


def _is_counter(name: str) -> bool:
    return name.startswith("db.")


def _is_of_the_clock(hint: Hint, rate_ratio: float) -> bool:
    return hint.ratio is not None and abs(math.log(hint.ratio * rate_ratio)) < _CLOCK


def _is_of_attempts(hint: Hint, attempts_ratio: float) -> bool:
    """attempts_ratio: of attempts per operation."""
    return hint.ratio is not None and abs(math.log(hint.ratio / attempts_ratio)) < _PER_ATTEMPT


def _is_of_connecting(hint: Hint, operations_per_user: Sequence[float]) -> bool:
    """On both sides. operations_per_user: in the longest run of the base and of the other."""
    shares = (hint.base_value, hint.other_value)
    return max(shares) < _PER_OPERATION_MAX and all(
        share * operations < _PER_USER_MAX for share, operations in zip(shares, operations_per_user, strict=True)
    )


def _counters(figures: Mapping[int, _Figures]) -> list[str]:
    return sorted({name for each in figures.values() for name in each if _is_counter(name)})


def _figure_differs(hint: Hint) -> FigureDiffers:
    shown: Metric | None = None if _is_counter(hint.name) else _SUMS.get(hint.name) or metric(hint.name)
    label = (
        shown.label
        if shown
        else f"{hint.name.removeprefix('db.').removesuffix('_per_s').replace('_', ' ')} per operation"
    )
    base, other = (shown.words(v) if shown else significant(v, 2) for v in (hint.base_value, hint.other_value))
    return FigureDiffers(
        name=hint.name,
        label=label,
        base_value=hint.base_value,
        other_value=hint.other_value,
        ratio=hint.ratio,
        words=f"{label.removeprefix('number of ')} {_told_values(hint.ratio, other, base)}",
    )


def _told_values(ratio: float | None, other: str, base: str) -> str:
    return f"{other} against {base}" if ratio is None else f"{signed_words(ratio)} ({other} against {base})"


#: Blocks that are needed for a difference to be called steady.
BLOCKS_MIN = 3
#: Less is no hint.
SIZE_MIN = math.log(1.1)
_ALPHA = 0.01


@dataclass(frozen=True, slots=True)
class Hint:
    """name: of the figure. base_value, other_value: geometric means, or plain ones where some value is zero. least: the
    log-ratio that is left of the mean when its uncertainty is taken off: what is large and steady has much of it."""

    name: str
    base_value: float
    other_value: float
    least: float

    @property
    def ratio(self) -> float | None:
        """None: the base is zero, or the other."""
        return self.other_value / self.base_value if self.base_value and self.other_value else None


def hint_of(name: str, base: Sequence[float], other: Sequence[float]) -> Hint | None:
    """base, other: one value a block, in the same order. None where a value is below zero, where there are too few
    blocks, or where the difference may be below SIZE_MIN."""
    a, b = np.asarray(base, dtype=float), np.asarray(other, dtype=float)
    if a.size < BLOCKS_MIN or (a < 0).any() or (b < 0).any():
        return None
    if not ((a > 0).all() and (b > 0).all()):
        return _of_differences(name, a, b)
    ratios = np.log(b) - np.log(a)
    least = abs(float(ratios.mean())) - _uncertain(ratios)
    if least < SIZE_MIN:
        return None
    return Hint(name, math.exp(float(np.log(a).mean())), math.exp(float(np.log(b).mean())), least)


def _of_differences(name: str, a: NDArray[np.float64], b: NDArray[np.float64]) -> Hint | None:
    """Where a value is zero there is no ratio. Against nothing at all the mean is certain to the factor by which it
    exceeds its uncertainty, that of its paired t over the critical one; and so it is ranked among ratios."""
    base, other = float(a.mean()), float(b.mean())
    uncertain = _uncertain(b - a)
    size = abs(other - base)
    least = math.inf if size > 0 and uncertain == 0 else math.log(size / uncertain) if size > 0 else 0.0
    if min(base, other) > 0:
        least = min(least, abs(math.log(other / base)))
    return Hint(name, base, other, least) if least >= SIZE_MIN else None


def _uncertain(values: NDArray[np.float64]) -> float:
    """Half the interval of their mean."""
    return t_critical(_ALPHA, values.size - 1) * float(values.std(ddof=1)) / math.sqrt(values.size)
