"""The headline's sentence about the space that tables take, where formats of tables are compared: whoever compares
these asks for size as much as for speed."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.wording import bytes_words, change_words
from ..findings.contestants import Contest, setting_words
from ..model.levels import TABLE_FORMAT
from .answer import CellAnswer


def size_words(contest: Contest, cells: Sequence[CellAnswer]) -> list[str]:
    """In the setting that the headline leads with; the sizes are those after the run of the typical repetition."""
    if contest.factor.rpartition(".")[2] != TABLE_FORMAT:
        return []
    sizes = {
        cell.contestant: cell.size_on_disk_bytes
        for cell in cells
        if cell.setting == dict(contest.middle) and cell.size_on_disk_bytes
    }
    base = sizes.pop(contest.baseline, None)
    if base is None or not sizes:
        return []
    where = f" at {setting_words(contest.middle)}" if contest.middle else ""
    others = [f"{name} {bytes_words(size)} ({_change(size / base)})" for name, size in sizes.items()]
    return [f"On disk after a run{where}: {contest.baseline} {bytes_words(base)}, {', '.join(others)}."]


def _change(ratio: float) -> str:
    return "as much" if change_words(ratio) == "0 %" else f"{change_words(ratio)} {'more' if ratio > 1 else 'less'}"
