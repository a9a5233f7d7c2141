"""The colour of each node of systems of several: one in every panel and table of a report, after the contestants'."""

from __future__ import annotations

from .answer import Answer


def node_series(answer: Answer) -> dict[tuple[str, str], int]:
    """By contestant and node. A server that is a system by itself has its contestant's colour, and is not in it."""
    nodes = dict.fromkeys((one.contestant, one.node) for one in answer.nodes)
    return {node: number for number, node in enumerate(nodes, len(answer.contestants))}
