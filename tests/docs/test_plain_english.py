"""What users and contributors read uses the plain word: documents, plans, templates, messages, comments and names of
tests."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: What is not written, and what to write for it.
PLAIN = {
    r"\b(is|are|was|were|be|been|being) (then |only |also |never |not )?told\b(?! (to|otherwise)\b)|\btold apart\b": (
        "is reported, is shown, is distinguished"
    ),
    r"\baloud\b|\bloudly\b": "is reported, is flagged",
    r"\b(made|runs?|measured|started) anew\b|\bmade again\b|\banew\b": "again, rerun, repeated, regenerated",
    r"\bh[eo]ld(s|ing)? against\b|\bheld against\b": "compared with, checked against",
    r"\bbeside\b": "with, next to, alongside, besides",
    r"\b(that|which|what) (is|are|was|were) (here|there)\b|\b(is|are) there with\b|\bcould be had\b|\bto be had\b": (
        "exists, is available"
    ),
    r"\b(stands?|stood|standing) in\b|\b(has|have) to stand\b|\bmust stand\b": "is in, belongs in",
    r"\bprivate (server|system|cluster|instance|one|data|MariaDB|PostgreSQL)s?\b": "managed server",
    r"\basks? (of )?(the|a|its|every|each|one|all) (server|database|node)s?\b": "sends statements or requests to",
    r"\bright (operation|answer)s?\b": "correct operations, correct answers",
    r"\bneighbou?r(s|ing|hood)?\b": "other processes, next to",
    r"\bwitness(es)?\b": "latency probe",
    r"\b(first|next|last|every|each|later|earlier|another|early|interim|planned) looks?\b"
    r"|\blooks? (at the data|of the)\b": "interim analysis",
    r"\boccasions?\b": "bundle, measurement day",
    r"\bwould have been (seen|shown|noticed)\b": "smallest detectable difference",
    r"\b\d?,?\d{3,} % (faster|slower|more|higher)\b|\btimes (less|fewer|slower|lower)\b": "5.8x as fast, 1/58 of",
    r"\bit is less by\b|\bso many\b|\bsuch as (are|is|was|were)\b": "(say the thing)",
    r"\b(is|are|was|be) spoken of\b|\bspeaks? of\b": "applies to, describes",
}

#: Words that are quoted here, since they were the names of things.
QUOTED = {"CHANGELOG.md"}
OLD_NAMES = {"tests/docs/test_plain_english.py", "tests/unit/test_renamed.py"}
_QUOTED_NAME = re.compile(r"`[^`\n]*`")
_OUTPUT = re.compile(r"^( *)```text\n.*?^\1```", re.MULTILINE | re.DOTALL)
_RUST = re.compile(r'//[/!]?[^\n]*|"(?:[^"\\]|\\.)*"', re.DOTALL)
_FUNCTION = re.compile(r"\bfn ([a-z0-9]+(?:_[a-z0-9]+){3,})")  # shorter names are no sentences


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def _python(text: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(text)):
        # A text without a space is a name.
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.lineno, node.name.replace("_", " ")
    comments: list[tuple[int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments.append((token.start[0], token.string))
    yield from _paragraphs(comments)


def _rust(text: str) -> Iterator[tuple[int, str]]:
    for found in _FUNCTION.finditer(text):
        yield text.count("\n", 0, found.start()) + 1, found[1].replace("_", " ")
    pieces = [(text.count("\n", 0, found.start()) + 1, found[0]) for found in _RUST.finditer(text)]
    yield from ((line, piece) for line, piece in pieces if piece.startswith('"'))
    yield from _paragraphs([(line, piece) for line, piece in pieces if piece.startswith("/")])


def _paragraphs(lines: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Comments on adjacent lines are one text, so that a phrase is found across a line break."""
    start, end, text = -1, -1, ""
    for line, comment in lines:
        if line != end + 1:
            if text:
                yield start, text
            start, text = line, ""
        end = line
        text += comment.lstrip("#/!") + "\n"
    if text:
        yield start, text


def _read(path: Path) -> Iterator[tuple[int, str]]:
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(ROOT).as_posix()
    if name in QUOTED:
        text = _QUOTED_NAME.sub(_blank, text)
    if path.suffix == ".py":
        yield from _python(text)
    elif path.suffix == ".rs":
        yield from _rust(text)
    elif path.suffix == ".toml":
        yield from _paragraphs([(at, line) for at, line in enumerate(text.splitlines(), 1) if "#" in line])
    else:
        yield 1, _OUTPUT.sub(_blank, text)


def _files() -> Iterator[Path]:
    yield from ROOT.glob("*.md")
    for folder, ending in (
        ("docs", "*.md"),
        ("plans", "*.toml"),
        ("plans", "*.md"),
        ("benches", "*.md"),
        ("benches", "*.py"),
        ("benches", "*.toml"),
        ("python", "*.py"),
        ("python", "*.html"),
        ("python", "*.js"),
        ("crates", "*.rs"),
        ("tests", "*.py"),
        ("release", "*.py"),
        (".github", "*.yml"),
        (".", "Makefile"),
    ):
        found = [ROOT / ending] if folder == "." else list((ROOT / folder).rglob(ending))
        assert found, f"{folder}/**/{ending}: nothing to read"
        yield from (path for path in found if path.relative_to(ROOT).as_posix() not in OLD_NAMES)


@pytest.mark.parametrize("pattern", PLAIN)
def test_a_plain_word_is_used(pattern: str) -> None:
    word = re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{line + text.count(chr(10), 0, match.start())}: {' '.join(match[0].split())}"
        for path, line, text in _texts()
        for match in word.finditer(text)
    ]
    assert not found, f"write {PLAIN[pattern]}:\n" + "\n".join(found)


@pytest.mark.parametrize("read", [_python, _rust])
def test_texts_and_comments_are_read(read: Callable[[str], Iterator[tuple[int, str]]]) -> None:
    mark = "#" if read is _python else "//"
    assert sorted(text.strip().strip('"') for _, text in read(f'x = "a text"  {mark} a comment\n')) == [
        "a comment",
        "a text",
    ]


_TEXTS: list[tuple[Path, int, str]] = []


def _texts() -> list[tuple[Path, int, str]]:
    if not _TEXTS:
        _TEXTS.extend((path, line, text) for path in _files() for line, text in _read(path))
    return _TEXTS
