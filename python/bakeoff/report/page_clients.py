"""Clients as rows of the page."""

from __future__ import annotations

from typing import Any

from .answer import Answer
from .client_words import row_words


def client_rows(answer: Answer) -> list[dict[str, Any]]:
    """first: of its cell."""
    rows, before = [], None
    for one in answer.clients:
        cell = one.contestant, one.setting_words
        client, *words = row_words(one)
        series = answer.contestants.index(one.contestant)
        rows.append({"found": one, "series": series, "first": cell != before, "client": client, "words": words})
        before = cell
    return rows
