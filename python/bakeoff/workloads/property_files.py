"""Property files of original tools, read unchanged: the syntax of java.util.Properties, and what a file says put into
options of ours. Syntax: comments (# and !), separators (=, : or blanks), lines continued by a backslash, and escapes; a
later line with the same key wins.

Every property is one of four: it becomes an option of ours, or a hint for the plan (threads, rate, limit), or it
belongs to something this tool does its own way and is reported as ignored, or it is unknown and refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import PlanError
from ..model.resolve import Described, OptionFile
from ..suggestions import nearest
from .base import Asked, Hints, locate, read_text

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_BLANKS = " \t\f"


@dataclass(frozen=True)
class Property:
    value: str
    line: int  # 1-based, where it begins
    path: Path = Path()

    def error(self, what: str, hint: str = "") -> PlanError:
        return PlanError(what, where=f"{self.path}, line {self.line}", hint=hint)


@dataclass
class PropertyFile:
    options: dict[str, Any] = field(default_factory=dict)
    hints: Hints = field(default_factory=Hints)
    advice: list[str] = field(default_factory=list)
    #: Files that were read, but for those that hold a password: a bundle keeps copies.
    sources: list[Path] = field(default_factory=list)


def file_option(name: str, what: str) -> Described:
    meaning = f"{what} of the original, relative to the plan's folder."
    return Described(name=name, default=None, values="a text", meaning=meaning)


def with_file(options: Mapping[str, Any], base_dir: Path, option: str, read: Callable[[Path], PropertyFile]) -> Asked:
    """The [workload] table without `kind`, and what the file says that `option` names. Raises PlanError."""
    said = dict(options)
    name = said.pop(option, None)
    if name is None:
        return Asked(said)
    if not isinstance(name, str):
        raise PlanError(f"`{option}` must be the name of a file")
    file = read(locate(base_dir, name))
    return Asked(said, OptionFile(name=Path(name).name, options=file.options), file.hints, file.sources, file.advice)


def as_whole(text: str) -> int:
    return int(text)


def as_number(text: str) -> float:
    return float(text)


def as_boolean(text: str) -> bool:
    return text.lower() == "true"  # as Java parses: anything else is false


class Properties(dict[str, Property]):
    @classmethod
    def read(cls, path: Path, option: str) -> Properties:
        """Raises PlanError naming the file. option: that named it."""
        text = read_text(path, option, encoding="latin-1")  # what java.util.Properties reads
        return cls({key: replace(said, value=said.value.strip(), path=path) for key, said in parse(text).items()})

    def value(self, name: str, convert: Callable[[str], Any], default: str = "") -> Any:
        """PlanError naming the file, the line and the property."""
        said = self.get(name)
        text = said.value if said else default
        try:
            return convert(text)
        except ValueError:
            wanted = "a number" if convert is as_number else "a whole number"
            what = f"`{name}` must be {wanted}, not `{text[:40]}`"
            raise (said.error(what) if said else PlanError(what)) from None

    def ignored(self, known: Collection[str], ignored: Mapping[str, str], prefixes: tuple[str, ...]) -> list[str]:
        """A sentence for each that has no meaning here. PlanError for one that is neither known nor ignored. ignored:
        where it is said instead, or ""."""
        advice = []
        for name, said in self.items():
            if name in known:
                continue
            if name not in ignored and not name.startswith(prefixes):
                near = nearest(name, sorted({*known, *ignored}))
                raise said.error(f"unknown property `{name}`", f"did you mean `{near}`?")
            why = ignored.get(name)
            words = f"property `{name}` of the original has no effect in bakeoff and is ignored"
            advice.append(f"{words}: {why}" if why else words)
        return advice


def parse(text: str) -> dict[str, Property]:
    found: dict[str, Property] = {}
    for number, line in _logical_lines(text):
        key, value = _split(line)
        found[_unescape(key)] = Property(_unescape(value), number)
    return found


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their continuations joined, comments and blank lines left out. A comment is never continued."""
    lines = enumerate(re.split(r"\r\n|\r|\n", text), 1)
    for number, natural in lines:
        line = natural.lstrip(_BLANKS)
        if not line or line[0] in "#!":
            continue
        while _is_continued(line):
            _, following = next(lines, (0, ""))
            line = line[:-1] + following.lstrip(_BLANKS)
        yield number, line


def _is_continued(line: str) -> bool:
    """An odd number of backslashes at the end: the last one is not itself escaped."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _split(line: str) -> tuple[str, str]:
    """At the first separator that is not escaped: blanks, or one = or : with blanks around it."""
    match = re.match(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", line, re.DOTALL)
    assert match is not None  # every part may be empty
    return match[1], match[2]


def _unescape(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return _ESCAPES.get(match[2], match[2])

    return re.sub(r"\\(?:u([0-9a-fA-F]{4})|(.?))", one, text, flags=re.DOTALL)
