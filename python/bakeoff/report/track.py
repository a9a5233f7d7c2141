"""A plan over many bundles, as text, as a page, and as a comment for a pull request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..analysis.machine_effects import RUNS_MIN
from ..analysis.metric import Metric
from ..analysis.shifts import BEFORE_MIN, UNSPREAD
from ..analysis.wording import counted, percent_words
from ..bundle.files import write_text
from ..findings.track import POINTS_MIN, History, Track, machines_words, shift_words
from .text.markdown import plain

LEVEL = "At most one false alarm a year is to be expected over all cells, where a bundle is made each night."


def answer_words(found: History) -> str:
    """One sentence: how many cells changed, and which way last."""
    changed = [track for track in found.tracks if track.shifts]
    cells = counted(len(found.tracks), "cell", "cells")
    if not changed:
        few = [track for track in found.tracks if track.detectable is None]
        return f"No change in {cells} was found" + ("; of some there are too few bundles." if few else ".")
    worse = sum(track.shifts[-1].worse is True for track in changed)
    last = f"; {worse} got worse at the last change" if worse else ""
    return f"{len(changed)} of {cells} changed{last}."


def track_words(track: Track, metric: Metric) -> list[str]:
    said = [shift_words(track, shift, metric) for shift in track.shifts] or ["no change was found"]
    if machines := machines_words(track):
        said.append(machines)
    if track.detectable is not None:
        ratio = percent_words(track.detectable - 1)
        said.append(f"a change of {ratio} would be seen within five more bundles in nine of ten cases")
    elif len(track.points) < POINTS_MIN:
        said.append(f"it has {counted(len(track.points), 'value', 'values')}, and {POINTS_MIN} are needed")
    else:
        said.append(
            f"nothing can be judged yet: {RUNS_MIN} values of a machine make it known, and {BEFORE_MIN} values are"
            f" needed, one more for each further machine, before the latest {UNSPREAD} (where each start of a host"
            " gives it another name: --machines-by hardware)"
        )
    if track.left_out:
        said.append(f"{counted(track.left_out, 'bundle has', 'bundles have')} no valid value")
    return said


def text(found: History) -> Iterator[str]:
    yield f"{found.title}: {counted(found.bundles, 'bundle', 'bundles')}, judged by {found.metric.label}"
    yield answer_words(found)
    for track in found.tracks:
        yield ""
        yield f"{track.cell}: {_now(track, found.metric)} now" if track.points else track.cell
        for words in track_words(track, found.metric):
            yield f"  {words}"
        for shift in track.shifts:
            for change in shift.changed:
                yield f"    changed there: {change}"
    if found.gone:
        yield f"\nnot in every bundle, and left out: {'; '.join(found.gone)}"


def _now(track: Track, metric: Metric) -> str:
    last = track.points[-1]
    return metric.words(last.value) + (f" on {last.machine}" if len(track.machines) > 1 else "")


def markdown(found: History) -> Iterator[str]:
    """For a comment."""
    yield f"**{plain(found.title)}**: {plain(answer_words(found))} Judged by {found.metric.label}. {LEVEL}"
    yield ""
    yield "| cell | now | |"
    yield "|---|---|---|"
    for track in found.tracks:
        now = plain(_now(track, found.metric)) if track.points else "–"
        yield f"| {plain(track.cell)} | {now} | {plain('; '.join(track_words(track, found.metric)))} |"


def write_page(path: Path, found: History) -> Path:
    return write_text(path.parent, path.name, page(found))


def page(found: History) -> str:
    from markupsafe import Markup

    from .charts.history import CAPTION, MACHINES_CAPTION, history
    from .charts.svg import COLOURS, DARK_COLOURS
    from .html.write import templates

    def drawn(track: Track) -> Any:
        if not track.points:
            return ""
        label = f"{found.metric.label} of {track.cell} over {counted(len(track.points), 'bundle', 'bundles')}"
        return Markup(history(track, found.metric.words, found.metric.label).inline(label))

    return (
        templates()
        .get_template("track.html")
        .render(
            found=found,
            answer=answer_words(found),
            level=LEVEL,
            tracks=[(track, drawn(track)) for track in found.tracks],
            said=lambda track: track_words(track, found.metric),
            caption=lambda track: CAPTION + (MACHINES_CAPTION if len(track.machines) > 1 else ""),
            colours=COLOURS,
            dark_colours=DARK_COLOURS,
            percentiles=[],
        )
    )
