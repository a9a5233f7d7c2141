"""The answer for a terminal or a pipe: the first screen, then its details: sentences, one row a cell, comparisons,
doubts."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from ...analysis.compare import ComparisonAnswer
from ...analysis.metric import Metric
from ...analysis.registry import metric
from ...analysis.wording import grouped, interval_words, milliseconds_words
from ...findings.cells import CellAnswer
from ...findings.contestants import Placed, axis_words, who_words
from ...findings.run_values import QUANTILE_WORDS, Spread, time_words
from ...findings.stages import StageAnswer
from ...terminal import aligned, one_line, rule
from ..answer import Answer
from ..words.clients_and_nodes import CLIENT_HEADS, NODE_HEADS, client_row, node_row
from ..words.faults import HEADS as FAULT_HEADS
from ..words.faults import row_words
from ..words.limits import limit_heads, limit_rows
from ..words.pairs import value_words
from ..words.promises import HEADS as PROMISE_HEADS
from ..words.promises import promise_row, verdict_meanings
from ..words.shapes import finding_words
from ..words.stages import HEADS as STAGE_HEADS
from ..words.stages import NOTE as STAGE_NOTE
from ..words.stages import row_cells as stage_cells
from .first_screen import first_lines

_WIDTH = 110
#: Differences of configuration that are listed; the report has all.
_DIFFERENCES_MAX = 5
_HEADS = (
    "ops/s",
    "95 % CI",
    "p50",
    "p95",
    "p99",
    "p99.9",
    "max",
    "errors",
    "CPU us/op client",
    "server",
    "validity",
)
#: In place of the interval of a rate that follows from arrivals that were drawn.
ALL_DUE = "all operations due"
SAME_PLANS = "The plans say the same: what differs between their runs is noise."
STATEMENT_HEADS = (
    "transactions",
    "queries",
    "read",
    "write",
    "other",
    "ignored errors",
    "reconnects",
    "min",
    "avg",
    "p95",
    "max",
)


def render_text(answer: Answer, *, colour: bool = False) -> str:
    first = [one_line(answer.title), "", *first_lines(answer.first, colour=colour), ""]
    return "\n".join([*first, *map(one_line, _lines(answer))]).rstrip() + "\n"


def _lines(answer: Answer) -> Iterator[str]:
    """The details."""
    judged = "" if answer.search else f"; judged by {answer.objective_words}"
    yield f"{answer.pacing}; {answer.measured}{judged}"
    for notice in (answer.demonstration, answer.incomplete):
        if notice:
            yield from _wrapped(notice)
    yield ""
    for sentence in answer.headline:
        yield from _wrapped(sentence, "* ")
    yield ""
    yield from _between_plans(answer)
    yield from _table(answer)
    yield from _statements(answer)
    yield from _nodes(answer)
    yield from _clients(answer)
    yield from _stages(answer)
    yield from _faults(answer)
    yield from _metrics(answer)
    yield from _held(answer)
    yield from _limits(answer)
    yield from _comparisons(answer)
    yield from _shapes(answer)
    yield ""
    yield from _doubts(answer)


def _between_plans(answer: Answer) -> Iterator[str]:
    """What is compared, where plans are."""
    if answer.compared != "plan":
        return
    found = answer.between_plans
    if not found:
        yield from (SAME_PLANS, "")
        return
    head = ["the plans differ in", *found[0].values]
    rows = [[one.name, *one.values.values()] for one in found[:_DIFFERENCES_MAX]]
    yield from table(head, rows, left=set(range(len(head))))
    if len(found) > _DIFFERENCES_MAX:
        yield f"and in {len(found) - _DIFFERENCES_MAX} more: see the report"
    yield ""


def _table(answer: Answer) -> Iterator[str]:
    settings = any(cell.setting_words for cell in answer.cells)
    verifies = any(cell.promise for cell in answer.cells)
    heads = [*_HEADS[:2], *(["promise"] if verifies else []), *_HEADS[2:]]
    head = [*(["setting"] if settings else []), answer.compared, *heads]
    rows: list[list[str]] = []
    before = ""
    for cell in answer.cells:
        shown = "" if cell.setting_words == before and rows else cell.setting_words
        before = cell.setting_words
        rate, interval, *figures = _figures(cell)
        promise = [cell.promise] if verifies else []
        rows.append([*([shown] if settings else []), cell.contestant, rate, interval, *promise, *figures])
    left = len(head) - len(heads)
    yield from table(head, rows, left={*range(left), *([left + 2] if verifies else []), len(head) - 1})
    yield from _dashes(answer)
    yield from _promises(answer)


def _promises(answer: Answer) -> Iterator[str]:
    if not answer.promises:
        return
    yield from ("", "What the systems keep of what they promise (the report shows each violation):")
    head = ["system", *PROMISE_HEADS]
    yield from table(head, [[one.system, *promise_row(one)] for one in answer.promises], left=set(range(len(head))))
    for words in verdict_meanings(answer.promises):
        yield from _wrapped(words)


def _dashes(answer: Answer) -> Iterator[str]:
    """Why a percentile is not stated, and of which cell where the reasons differ."""
    for name, words in QUANTILE_WORDS.items():
        first: dict[str, tuple[str, str]] = {}
        for cell in answer.cells:
            if cell.rate_ops_per_s is not None and getattr(cell.response, name) is None:
                why = cell.response.words.get(name, "not known")
                place = ", ".join(filter(None, (cell.setting_words, cell.contestant)))
                first.setdefault(why.partition(" (")[0], (place, why))
        for place, why in first.values():
            of = f" of {place}" if len(first) > 1 else ""
            yield from _wrapped(f'{words} "-"{of}: {why}')


def _of_places(
    answer: Answer,
    title: str,
    heads: Sequence[str],
    rows: Sequence[tuple[Placed, Sequence[str]]],
    left: int = 0,
    right: int | None = None,
) -> Iterator[str]:
    """A titled table of what is in one place each. left: number of `heads` that are words; right: if given,
    all are words but this one, counted from the right."""
    yield from ("", title)
    settings = any(cell.setting_words for cell in answer.cells)
    head = [*(["setting"] if settings else []), answer.compared, *heads]
    lines = [[*([place.setting_words] if settings else []), place.contestant, *words] for place, words in rows]
    words = set(range(len(head) - len(heads) + left)) if right is None else set(range(len(head))) - {len(head) - right}
    yield from table(head, lines, left=words)


def _statements(answer: Answer) -> Iterator[str]:
    """What a user of sysbench looks for, of workloads that count their statements."""
    if counted := [cell for cell in answer.cells if cell.statements]:
        rows = [(cell, statement_words(cell)) for cell in counted]
        yield from _of_places(answer, "Statements per second:", STATEMENT_HEADS, rows)


def _nodes(answer: Answer) -> Iterator[str]:
    if answer.nodes:
        rows = [(node, node_row(node)) for node in answer.nodes]
        yield from _of_places(answer, "What came from each node:", NODE_HEADS, rows, left=1)


def _clients(answer: Answer) -> Iterator[str]:
    if answer.clients:
        rows = [(client, client_row(client)) for client in answer.clients]
        yield from _of_places(answer, "What each client did:", CLIENT_HEADS, rows, left=1)


def _stages(answer: Answer) -> Iterator[str]:
    """Without intervals, for which a terminal is too narrow."""
    if answer.stages:
        rows = [(one, _stage_words(one)) for one in answer.stages]
        heads = [*STAGE_HEADS[:1], "planned", *STAGE_HEADS[1:]]
        yield from _of_places(answer, "Stage by stage:", heads, rows, left=4)
        yield from _wrapped(STAGE_NOTE)


def _stage_words(answer: StageAnswer) -> list[str]:
    (stage, planned), (seconds, _), (kept, why), *cells = stage_cells(answer)
    return [stage, planned, seconds, ", ".join(filter(None, (kept, why))), *(value for value, _ in cells)]


def _faults(answer: Answer) -> Iterator[str]:
    if answer.faults:
        title = "What the planned faults did (with the 95 % CI over the repetitions):"
        yield from _of_places(answer, title, FAULT_HEADS, [(one, row_words(one)) for one in answer.faults], left=1)


def _metrics(answer: Answer) -> Iterator[str]:
    """The workload's own figures, and what was asked for."""
    if answer.metrics:
        title = "Further figures (with the 95 % CI over the repetitions):"
        rows = [(cell, [*map(_with_interval, metric_words(answer, cell))]) for cell in answer.cells]
        yield from _of_places(answer, title, [shown.name for shown in answer.metrics], rows)


def _held(answer: Answer) -> Iterator[str]:
    if not answer.held:
        return
    yield ""
    yield "Limits of the plan:"
    head = limit_heads(answer.held)
    yield from table(head, limit_rows(answer.held), left=set(range(len(head))))


def _limits(answer: Answer) -> Iterator[str]:
    """Response times that the workload's rules ask for: those that were not met, and how many were."""
    judged = [(cell, limit) for cell in answer.cells for limit in cell.limits]
    if not judged:
        return
    title = (
        f"Response-time limits of the workload: {sum(limit.met is True for _, limit in judged)} of {len(judged)} met"
    )
    rows = [
        (cell, (limit.operation, limit.rule_words, limit.words, limit.verdict))
        for cell, limit in judged
        if limit.met is not True
    ]
    if rows:
        yield from _of_places(answer, title, ("operation", "limit", "took", "verdict"), rows, right=2)
    else:
        yield from ("", title)


def metric_words(answer: Answer, cell: CellAnswer) -> list[tuple[str, str]]:
    """Each value and its interval, as `answer.metrics` names them; a dash where one is not defined in every run."""
    return [_spread_words(metric(shown.name, answer.rates), cell.metrics.get(shown.name)) for shown in answer.metrics]


def _spread_words(shown: Metric, spread: Spread | None) -> tuple[str, str]:
    if spread is None:
        return "-", ""
    if spread.low is None or spread.high is None:
        return shown.words(spread.value), ""
    return shown.words(spread.value), interval_words(spread.low, spread.high, shown.words)


def _with_interval(words: tuple[str, str]) -> str:
    value, between = words
    return f"{value} ({between})" if between else value


def statement_words(cell: CellAnswer) -> list[str]:
    """As STATEMENT_HEADS names them; dashes where nothing was counted."""
    found = cell.statements
    if found is None:
        return ["-"] * len(STATEMENT_HEADS)
    queries_per_s = (found.queries_per_s, found.reads_per_s, found.writes_per_s, found.others_per_s)
    rare = (found.ignored_errors_per_s, found.reconnects_per_s)
    fastest = None if found.min_ms is None else milliseconds_words(found.min_ms)
    times = (fastest, *(time_words(cell.response, name) for name in ("mean_ms", "p95_ms", "max_ms")))
    return [
        *(grouped(value) for value in (found.transactions_per_s, *queries_per_s)),
        *(f"{value:.2f}" for value in rare),
        *(words or "-" for words in times),
    ]


def _figures(cell: CellAnswer) -> list[str]:
    rate, response = cell.rate_ops_per_s, cell.response
    if rate is None:
        return ["-"] * (len(_HEADS) - 1) + [cell.validity]
    interval = "-" if rate.low is None or rate.high is None else interval_words(rate.low, rate.high, grouped)
    if cell.due_and_done_ops_per_s is not None:
        interval = ALL_DUE
    times = [time_words(response, name) for name in (*QUANTILE_WORDS, "max_ms")]
    return [
        grouped(rate.value),
        interval,
        *(words or "-" for words in times),
        error_words(cell),
        *("-" if v is None else grouped(v) for v in (cell.client_cpu_us_per_op, cell.server_cpu_us_per_op)),
        cell.validity,
    ]


def error_words(cell: CellAnswer) -> str:
    """ "0", or the classes with their counts: "wrong 3, unknown 1"."""
    return ", ".join(f"{name} {count:,}" for name, count in cell.errors.items() if count) or "0"


def _comparisons(answer: Answer) -> Iterator[str]:
    if not answer.comparisons:
        return
    yield ""
    yield f"Compared with {answer.comparisons[0].base}:"
    objective = metric(answer.objective, answer.rates)
    rows = [
        [
            c.setting_words,
            value_words(c.other_value, objective, c.other_why),
            value_words(c.base_value, objective, c.base_why),
            _finding(c),
        ]
        for c in answer.comparisons
    ]
    rows += [[c.setting_words, "", "", _finding(c)] for c in answer.over_all]
    head = ["setting", "value", "base", "finding"]
    if not any(row[0] for row in rows):
        head, *rows = (row[1:] for row in [head, *rows])
    yield from table(head, rows, left={head.index("finding"), *([0] if len(head) == 4 else [])})
    yield from _notes([*answer.comparisons, *answer.over_all])


def _finding(c: ComparisonAnswer) -> str:
    return c.words if c.claims_difference else f"{c.other}: {c.words}"


def _shapes(answer: Answer) -> Iterator[str]:
    """Of a sweep, level by level; where pairs are the answer, the first lines say enough of shapes."""
    if answer.comparisons or not answer.shapes:
        return
    axis = axis_words(answer.shapes[0].axis)
    yield ""
    yield f"Over {axis}, against the {'highest' if answer.shapes[0].direction == 'higher' else 'lowest'}:"
    objective = metric(answer.objective, answer.rates)
    who = len(answer.contestants) > 1
    rows = [
        [
            *([who_words(shape)] if who or shape.setting_words else []),
            level.level_words,
            value_words(level.value.value if level.value else None, objective),
            finding_words(shape, level, objective),
        ]
        for shape in answer.shapes
        for level in shape.levels
    ]
    head = [*(["of"] if len(rows[0]) > 3 else []), axis, objective.label, "finding"]
    yield from table(head, rows, left={*range(len(head) - 2), len(head) - 1})


def _notes(comparisons: Sequence[ComparisonAnswer]) -> Iterator[str]:
    """Each once, with the places that it is about. Of a single one the first lines say what failed."""
    places: dict[tuple[str, str], list[str]] = {}
    for c in comparisons:
        failures = [c.failures.removesuffix(".")] if c.failures and len(comparisons) > 1 else []
        for note in [*c.notes, *failures]:
            places.setdefault((c.other, note), []).append(c.setting_words)
    for (other, note), settings in places.items():
        where = settings[0] if len(settings) == 1 else f"in {len(settings)} settings"
        yield from _wrapped(f"{', '.join(filter(None, (other, where)))}: {note}", "  note: ")


def _doubts(answer: Answer) -> Iterator[str]:
    for number, words in enumerate(answer.validity):
        yield from _wrapped(words, "- " if number else "")
    yield from _undeclared(answer)
    for system, reason in answer.skipped.items():
        yield from _wrapped(f"skipped {system}: {reason}", "- ")
    for message in answer.messages:
        yield from _wrapped(message, "- ")


def _undeclared(answer: Answer) -> Iterator[str]:
    """What may be the reason for a result comes first."""
    found = sorted(answer.undeclared, key=lambda difference: not difference.deciding)
    for one in found[:_DIFFERENCES_MAX]:
        values = "; ".join(f"{name}: {value}" for name, value in one.values.items())
        yield from _wrapped(f"{one.name} differs, and the plan does not say so ({values})", "- ")
    if len(found) > _DIFFERENCES_MAX:
        yield f"- and {len(found) - _DIFFERENCES_MAX} more such differences: see the report"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: set[int]) -> Iterator[str]:
    """Columns two spaces apart under a ruled head; those in `left` to the left, figures to the right."""
    lines = [[one_line(cell) for cell in line] for line in [head, *rows]]
    first, *others = aligned(lines, left)
    yield from (first, rule(lines), *others)


def _wrapped(words: str, bullet: str = "") -> list[str]:
    """Commands are copied from here: no option is broken at its hyphens."""
    wrapped = textwrap.wrap(
        one_line(words),
        _WIDTH,
        initial_indent=bullet,
        subsequent_indent=" " * len(bullet),
        break_on_hyphens=False,
    )
    return wrapped or [""]
