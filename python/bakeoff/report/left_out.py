"""The headline's sentences about cells that do not count, or not fully: a reader would take the others for the whole
answer."""

from __future__ import annotations

from collections.abc import Sequence

from .answer import CellAnswer, ComparisonAnswer

#: So many cells are named; more are only counted.
NAMED_MAX = 2


def not_valid_words(cells: Sequence[CellAnswer]) -> list[str]:
    """A cell whose runs all failed is said here, or a reader would take the others for the whole answer. (Of cells
    whose runs were disturbed the first sentence speaks.)"""
    found = [cell for cell in cells if cell.no_valid_run and not cell.too_few_undisturbed]
    sentences = [f"{_cell_words(cell)}: no valid run: {cell.no_valid_run}." for cell in found[:NAMED_MAX]]
    if len(found) > NAMED_MAX:
        sentences.append(f"No valid run either in {len(found) - NAMED_MAX} more of {len(cells)} cells.")
    return sentences


def not_compared_words(comparisons: Sequence[ComparisonAnswer], cells: Sequence[CellAnswer]) -> list[str]:
    """Whoever failed in some of its runs is named first, not ranked by the others."""
    refused = [c for c in comparisons if c.verdict == "invalid runs"]
    found = [cell for cell in cells if cell.invalid_runs and not cell.no_valid_run]
    sentences = []
    for cell in found[:NAMED_MAX]:
        is_refused = any(c.setting == cell.setting and cell.contestant in (c.base, c.other) for c in refused)
        so = "not compared" if is_refused else "what its other runs say is no answer"
        sentences.append(f"{_cell_words(cell)}: {cell.invalid_runs}; {so}.")
    if len(found) > NAMED_MAX:
        sentences.append(f"Some runs were invalid in {len(found) - NAMED_MAX} more of {len(cells)} cells.")
    return sentences


def _cell_words(cell: CellAnswer) -> str:
    return f"{cell.contestant}{f' at {cell.setting_words}' if cell.setting_words else ''}"
