"""Text of others (titles, servers, error messages) as it may be shown: what would steer a terminal, or turn the letters
of a page around, is shown as its escape."""

from __future__ import annotations

import re

#: Control characters but for line end and tab; marks that turn the direction of letters; halves of letters.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Line ends and tabs stay."""
    return _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
