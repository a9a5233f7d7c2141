"""Arrows between files of a crate run one way: a file is read without the files that use it."""

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

CRATES = Path(__file__).parents[2] / "crates"

Module = tuple[str, ...]
_USE = re.compile(r"^ *(?:pub(?:\(\w+\))? +)?use\s+([^;]+);", re.MULTILINE)


def modules(source: Path) -> dict[Module, Path]:
    named = {tuple(p.relative_to(source).with_suffix("").parts): p for p in source.rglob("*.rs")}
    return {tuple(part for part in name if part not in ("lib", "main", "mod")): path for name, path in named.items()}


def code(path: Path) -> str:
    """Without comments, and without tests that are in the file."""
    text = re.sub(r"//.*", "", path.read_text())
    return text.partition("#[cfg(test)]\nmod tests {")[0]


def branches(tree: str) -> Iterator[str]:
    """The paths of a `use`: `a::{b, c::d}` names `a::b` and `a::c::d`."""
    head, brace, rest = tree.partition("{")
    if not brace:
        yield tree.strip().partition(" as ")[0]
        return
    depth, begin = 0, 0
    inside = rest[: rest.rindex("}")]
    for place, letter in enumerate(inside + ","):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            yield from (head.strip() + branch for branch in branches(inside[begin:place]) if branch)
            begin = place + 1


def used(module: Module, path: Path, known: dict[Module, Path]) -> Iterator[Module]:
    text = code(path)
    paths = [branch for tree in _USE.findall(text) for branch in branches(tree)]
    paths += re.findall(r"\b(?:crate|super)(?:::\w+)+", text)
    for words in (path.split("::") for path in paths):
        at = list(module)
        if words[0] == "crate":
            at = []
        elif words[0] not in ("self", "super") and (*module, words[0]) not in known:
            continue
        while words and words[0] in ("crate", "self", "super"):
            at = at[:-1] if words.pop(0) == "super" else at
        while words and (*at, words[0]) in known:
            at.append(words.pop(0))
        yield tuple(at)


def related(a: Module, b: Module) -> bool:
    """One is a part of the other, which is free to use what it is a part of."""
    return a[: len(b)] == b or b[: len(a)] == a


@pytest.mark.parametrize("crate", sorted(path.name for path in CRATES.iterdir() if (path / "src").is_dir()))
def test_no_files_of_a_crate_use_each_other_in_a_circle(crate: str) -> None:
    known = modules(CRATES / crate / "src")
    graph = {
        module: {other for other in used(module, path, known) if other in known and not related(module, other)}
        for module, path in known.items()
    }
    assert any(graph.values())
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(" -> ".join("::".join(module) for module in reversed(error.args[1]))) from None
