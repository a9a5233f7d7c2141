"""Text of others in Markdown."""

from __future__ import annotations

import re

from ...terminal import printable


def plain(words: str) -> str:
    """Text of others as text, not as Markdown or HTML, on one line."""
    one_line = " ".join(printable(words).split())
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", one_line)
