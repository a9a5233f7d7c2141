"""Hints for unknown words, and what is wrong with a value in a plan."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any

from pydantic_core import ErrorDetails

from .renamed import now_called

#: A server has hundreds of settings.
NAMED_MAX = 30


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like `word`; None only if nothing is known."""
    lowered: dict[str, str] = {}
    for name in known:
        lowered.setdefault(name.lower().replace("-", "_"), name)
    found = difflib.get_close_matches(word.lower().replace("-", "_"), lowered, n=1, cutoff=0.0)
    return lowered[found[0]] if found else None


def is_close(word: str, other: str) -> bool:
    return difflib.SequenceMatcher(None, word.lower(), other.lower()).ratio() >= 0.6


def meant(word: str, known: Iterable[str]) -> str:
    """A hint with the closest known word, and with all of them where it is not close and they are few."""
    names = list(known)
    best = nearest(word, names)
    if best is None:
        return ""
    if is_close(word, best):
        return f"did you mean `{best}`?"
    among = f", of {', '.join(names)}" if len(names) <= NAMED_MAX else ""
    return f"the closest known name is `{best}`{among}"


def unknown(what: str, word: str, known: Iterable[str]) -> tuple[str, str]:
    """(what, hint) of an unknown word: what it is called now, else `what` and what may have been meant."""
    names = list(known)
    renamed = now_called(word, names)
    return (renamed, "") if renamed else (what, meant(word, names))


def one_of(word: str, choices: Iterable[str]) -> str:
    """A hint with all choices, the closest first where it is close."""
    names = list(choices)
    best = nearest(word, names)
    likely = f"did you mean `{best}`? " if best is not None and is_close(word, best) else ""
    return f"{likely}It is one of: {', '.join(names)}"


_TYPES = {
    "string": "a text in quotes",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "list": "a list in [ ]",
    "dict": "a table",
    "model": "a table",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "above"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "at most"),
}


def sentence(detail: ErrorDetails, key: str) -> tuple[str, str]:
    """(what, hint). The readers of a table report unknown and missing keys. key: the value's key;
    empty for a whole table."""
    kind, value = detail["type"], detail["input"]
    context: dict[str, Any] = detail.get("ctx", {})
    if kind == "value_error":
        cause = context["error"]
        return f"`{key}`: {cause}" if key else str(cause), getattr(cause, "hint", "")
    if kind == "literal_error":
        choices = re.findall(r"'([^']*)'", str(context["expected"]))
        return f"`{key}` cannot be {_shown(value)}", one_of(str(value), choices)
    if kind in _BOUNDS:
        limit, words = _BOUNDS[kind]
        return f"`{key}` is {_shown(value)}, and must be {words} {context[limit]}", ""
    if kind in ("too_short", "string_too_short"):
        return f"`{key}` is empty", "write at least one" if kind == "too_short" else ""
    wanted = next((text for name, text in _TYPES.items() if kind.startswith(name)), "")
    if wanted == "a table":  # the value may be a password
        return f"`{key}` must be a table, not {_kind(value)}", "such as { key = value }"
    quoted = "write it in double quotes" if kind.startswith("string") and isinstance(value, int | float) else ""
    return f"`{key}` must be {wanted or 'something else'}, not {_shown(value)}", quoted


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'the text "{value}"'
    return str(value) if isinstance(value, int | float) else _kind(value)


def _kind(value: Any) -> str:
    kinds = ((bool, "true or false"), (str, "a text"), (int | float, "a number"), (dict, "a table"), (list, "a list"))
    return next((words for kind, words in kinds if isinstance(value, kind)), str(value))
