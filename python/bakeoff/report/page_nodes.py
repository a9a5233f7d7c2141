"""Nodes, and what planned faults did to them, as rows of the page."""

from __future__ import annotations

from typing import Any

from .answer import Answer
from .fault_words import row_cells
from .node_colours import node_series
from .node_words import row_words


def node_rows(answer: Answer) -> list[dict[str, Any]]:
    of_nodes, rows = node_series(answer), []
    for one in answer.nodes:
        name, *words = row_words(one)
        series = answer.contestants.index(one.contestant)
        rows.append(
            {"found": one, "series": series, "node": (of_nodes[one.contestant, one.node], name), "words": words}
        )
    return rows


def fault_rows(answer: Answer) -> list[dict[str, Any]]:
    """node: the fault in words, with a colour where one alone of several nodes is hurt."""
    of_nodes, rows = node_series(answer), []
    for one in answer.faults:
        (fault, _), *cells = row_cells(one)
        hurt = {of_nodes.get((one.contestant, node)) for node in one.nodes}
        node = hurt.pop() if len(hurt) == 1 else None, fault
        rows.append({"found": one, "series": answer.contestants.index(one.contestant), "node": node, "cells": cells})
    return rows
