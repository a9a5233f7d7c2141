"""Text in columns, for a terminal or a pipe."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence


def aligned(lines: Sequence[Sequence[str]], left: Collection[int]) -> Iterator[str]:
    """Two spaces apart; the columns in `left` to the left, the others, figures, to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = enumerate(zip(line, widths, strict=True))
        yield "  ".join(c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in cells).rstrip()


def rule(lines: Sequence[Sequence[str]]) -> str:
    """What stands under the head of such columns."""
    return "  ".join("-" * max(map(len, column)) for column in zip(*lines, strict=True))
