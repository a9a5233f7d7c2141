"""What came from each node of a system of several, over the repetitions of a cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ..analysis.response_times import merge_documents
from ..analysis.wording import milliseconds_words, percent_words, seconds_words
from ..findings.contestants import Contest, setting_words
from ..findings.runs import used_runs
from ..model.records import RunRecord
from .answer import NodeAnswer

HEADS = ("node", "operations", "share", "p50", "p99", "errors", "sessions opened again", "did not answer")


def node_answers(contest: Contest, runs: Mapping[str, Sequence[RunRecord]]) -> list[NodeAnswer]:
    """Setting by setting, each cell's nodes in their order; none of a system of one."""
    places = [(name, setting) for setting in contest.settings for name in contest.contestants]
    found = []
    for cell in (cell for place in places if (cell := contest.cell(*place)) is not None):
        used = used_runs(runs[cell.id])
        where = contest.contestant(cell), setting_words(contest.setting(cell))
        names = dict.fromkeys(node.name for run in used for node in run.nodes)
        found += [_node_answer(name, used, *where) for name in names]
    return found


def _node_answer(name: str, runs: Sequence[RunRecord], contestant: str, setting: str) -> NodeAnswer:
    same = [node for run in runs for node in run.nodes if node.name == name]
    every = sum(node.operations for run in runs for node in run.nodes)
    times = merge_documents([node.response for node in same])
    outcomes = Counter[str]()
    for node in same:
        outcomes.update(node.outcomes)
    silent_s = [
        (run.window_s if silence.to_s is None else silence.to_s) - silence.from_s
        for run in runs
        for silence in run.silences
        if silence.node == name
    ]
    operations = sum(node.operations for node in same)
    return NodeAnswer(
        contestant=contestant,
        setting_words=setting,
        node=name,
        role=same[0].role,
        operations=operations,
        share=operations / every if every else None,
        p50_ms=times.p50_ns / 1e6 if times.count else None,
        p99_ms=times.p99_ns / 1e6 if times.count else None,
        errors={outcome: count for outcome, count in outcomes.items() if outcome != "ok" and count},
        reconnects=sum(node.reconnects or 0 for node in same),
        runs=len(runs),
        silences=len(silent_s),
        silent_s=sum(silent_s),
    )


def _silent_words(answer: NodeAnswer) -> str:
    if not answer.silences:
        return "-"
    if answer.runs < 2:
        return f"{answer.silences} x, {seconds_words(answer.silent_s)}"
    often = f"{answer.silences / answer.runs:.2g} x in each run"
    return f"{often}, {seconds_words(answer.silent_s / answer.silences)} each"


def row_words(answer: NodeAnswer) -> list[str]:
    """As HEADS names them."""
    times = ["-" if value is None else milliseconds_words(value) for value in (answer.p50_ms, answer.p99_ms)]
    return [
        f"{answer.node} ({answer.role})",
        f"{answer.operations:,}",
        "-" if answer.share is None else percent_words(answer.share, digits=3),
        *times,
        ", ".join(f"{outcome} {count:,}" for outcome, count in answer.errors.items()) or "0",
        f"{answer.reconnects:,}",
        _silent_words(answer),
    ]
