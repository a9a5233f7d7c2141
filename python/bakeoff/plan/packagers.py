"""Where the versions that a plan compares come from: one source for all of a kind where one has all of them, so that
they differ in nothing but their version. Where none has, the plan says who built which before anything starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import BakeoffError
from ..provision.container import installation_for
from ..provision.installation import Installation
from ..systems.base import System

Options = tuple[type[System], dict[str, Any]]
#: By kind and version, for those that a plan does not name a source or an image for.
SourcesOf = Mapping[tuple[str, str | None], str]


def alike_sources(options: Iterable[Options]) -> SourcesOf:
    """For each kind of which several versions are started, the source to take each from."""
    found: dict[tuple[str, str | None], str] = {}
    for kind, starts in _started(options).items():
        versions = list(dict.fromkeys(start.get("version") for start in starts if _is_free(start)))
        if len(versions) > 1 and (sources := kind.sources()) is not None:
            found |= {(kind.kind, version): source for version, source in sources.alike(versions).items()}
    return found


def with_source(kind: type[System], options: dict[str, Any], sources: SourcesOf) -> dict[str, Any]:
    start = options.get("start")
    if not isinstance(start, dict) or not _is_free(start):
        return options
    source = sources.get((kind.kind, start.get("version")))
    return {**options, "start": {**start, "source": source}} if source else options


def packager_words(options: Iterable[Options]) -> list[str]:
    """Warnings about kinds of which several versions were built by several packagers."""
    words = []
    for kind, starts in _started(options).items():
        found = [one for start in starts if (one := _installation(kind, start))]
        if len({one.packager for one in found}) > 1:
            builds = "; ".join(dict.fromkeys(f"{one.version} is from {one.described}" for one in found))
            words.append(
                f"the builds of {kind.kind} come from different packagers: {listed(one.packager for one in found)}."
                f" They differ in compiler and options as well as in version ({builds}).{_advice(kind, starts)}"
            )
    return words


def _advice(kind: type[System], starts: Sequence[Mapping[str, Any]]) -> str:
    sources, versions = kind.sources(), [start.get("version") for start in starts]
    named = [str(version) for version in versions if version is not None]
    if sources is None or len(named) < len(versions) or not all(map(_is_free, starts)):
        return ""
    commands = sources.would_make_alike(named)
    return f" To take all from one: {commands}" if commands else ""


def listed(packagers: Iterable[str]) -> str:
    return ", ".join(sorted(set(packagers)))


def _started(options: Iterable[Options]) -> dict[type[System], Sequence[dict[str, Any]]]:
    """What `start` says, by kind, each once."""
    found: dict[type[System], list[dict[str, Any]]] = {}
    for kind, said in options:
        start = said.get("start")
        if isinstance(start, dict) and start not in found.setdefault(kind, []):
            found[kind].append(start)
    return {kind: starts for kind, starts in found.items() if starts}


def _is_free(start: Mapping[str, Any]) -> bool:
    """What is no version is refused elsewhere."""
    named = isinstance(start.get("version"), str | None)
    return named and start.get("source") is None and start.get("image") is None


def _installation(kind: type[System], start: Mapping[str, Any]) -> Installation | None:
    """None: not here, which is said elsewhere."""
    sources = kind.sources()
    if sources is None:
        return None
    try:
        return installation_for(sources, start.get("version"), start.get("image"), start.get("source"))
    except BakeoffError:
        return None
