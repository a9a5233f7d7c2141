"""What a search found, in words: the capacity of each contestant, and which has more."""

from __future__ import annotations

from ..findings.searches import SearchAnswer


def search_sentences(answer: SearchAnswer | None) -> list[str]:
    """Each contestant's capacity, and then what one has over another."""
    if answer is None:
        return []
    several = len({(found.contestant, found.setting_words) for found in answer.found}) > 1
    question = answer.question[:1].upper() + answer.question[1:]
    sentences = []
    for found in answer.found:
        who = f" ({', '.join(filter(None, (found.contestant, found.setting_words)))})" if several else ""
        sentences.append(f"{question}{who}: {found.words}. {found.held.words}.")
    return sentences + [f"{found.words}." for found in answer.differences]
