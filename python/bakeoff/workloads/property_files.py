"""The syntax of Java property files, as java.util.Properties reads them: comments (# and !), separators (=, : or
blanks), lines continued by a backslash, and escapes. A later line with the same key wins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .. import input_files
from ..errors import PlanError

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_BLANKS = " \t\f"


@dataclass(frozen=True)
class Property:
    value: str
    line: int  # 1-based, where it begins


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


def locate(base_dir: Path, name: str) -> Path:
    """Relative to the plan; a plan that lies in a bundle has its files beside it in `files`."""
    kept = base_dir / "files"
    places = [base_dir / name, kept / name, kept / Path(name).name]
    return next((path for path in places if path.exists()), places[0])


def read_text(path: Path, option: str, *, encoding: str = "utf-8") -> str:
    """Raises PlanError naming the file."""
    try:
        return input_files.read_text(path, encoding=encoding)
    except (OSError, UnicodeDecodeError) as error:
        why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror or error
        raise PlanError(
            f"the workload file cannot be read: {why}",
            where=str(path),
            hint=f"`{option}` is relative to the plan's folder",
        ) from error
