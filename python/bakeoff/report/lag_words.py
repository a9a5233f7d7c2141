"""How far replicas were behind their primary: a sentence of the headline for each contestant that has some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..analysis.wording import seconds_words
from ..findings.contestants import Contest, setting_words
from ..findings.run_values import lags_s
from ..findings.runs import used_runs
from ..findings.source import Source
from ..model.records import RunRecord

#: Below it a replica is as good as level: it is asked once a second.
LEVEL_S = 0.5
#: Still falling behind: so much further at the end than halfway.
GROWING_RATIO = 1.2


def lag_sentences(contest: Contest, bundle: Source, runs: Mapping[str, Sequence[RunRecord]]) -> list[str]:
    """At the middle setting."""
    cells = [(name, cell) for name in contest.contestants if (cell := contest.cell(name, contest.middle))]
    where = f" at {setting_words(contest.middle)}" if contest.middle else ""
    told = [(name, _lag_words(bundle, used_runs(runs[cell.id]))) for name, cell in cells]
    return [f"{name}{where}: {words}." for name, words in told if words]


def _lag_words(bundle: Source, runs: Sequence[RunRecord]) -> str:
    """Of the replica that was furthest behind in any run, as a clause; "" where there is none."""
    found = [(lags[-1], node, lags, run) for run in runs for node, lags in lags_s(bundle, run).items()]
    if not found:
        return ""
    furthest_s = max(max(lags) for _, _, lags, _ in found)
    if furthest_s < LEVEL_S:
        silent = {silence.node for run in runs for silence in run.silences}
        away = sorted(silent & {node for _, node, _, _ in found})
        known = f" while it told of itself; {' and '.join(away)} did not all the time" if away else ""
        return f"no replica was more than {seconds_words(furthest_s)} behind{known}"
    end_s, node, lags, run = max(found, key=lambda one: one[0])
    often = " in the worst repetition" if len(runs) > 1 else ""
    if end_s < LEVEL_S:
        return f"replicas were up to {seconds_words(furthest_s)} behind{often}, and not at the end"
    growing = ", and still falling behind" if end_s > GROWING_RATIO * lags[len(lags) // 2] else ""
    stale = "; what was read there was that stale" if any(n.name == node and n.operations for n in run.nodes) else ""
    most = f" (at most {seconds_words(furthest_s)})" if furthest_s > GROWING_RATIO * end_s else ""
    return f"{node} was {seconds_words(end_s)} behind at the end{often}{most}{growing}{stale}"
