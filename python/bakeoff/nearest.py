"""What somebody who wrote an unknown word may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

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
    """A hint naming the nearest known word, and all of them when it is not near and they are few."""
    names = list(known)
    best = nearest(word, names)
    if best is None:
        return ""
    if is_close(word, best):
        return f"did you mean `{best}`?"
    among = f", of {', '.join(names)}" if len(names) <= NAMED_MAX else ""
    return f"the nearest known one is `{best}`{among}"


def one_of(word: str, choices: Iterable[str]) -> str:
    """A hint with all the choices, the nearest first when it is near."""
    names = list(choices)
    best = nearest(word, names)
    likely = f"did you mean `{best}`? " if best is not None and is_close(word, best) else ""
    return f"{likely}It is one of: {', '.join(names)}"
