"""axe-core finds nothing serious in the pages of `bakeoff serve`, light and dark, and scripts of others do not run."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from subprocess import Popen
from tempfile import TemporaryFile
from types import SimpleNamespace
from typing import cast

import pytest
from bakeoff.bundle.events import Begin, CellDescription, Event, Phase, RunBegins, Sampled, Second
from bakeoff.bundle.results_folder import annotate, listed
from bakeoff.serve import pages
from bakeoff.serve.going import Going
from bakeoff.serve.installs import Install, Installs
from bakeoff.serve.plans import Plans
from builders.bundles import SMALL, write_bundle
from builders.chromium import DARK, Chromium
from test_report_accessibility import axe, violations

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=\"document.title = 'run'\">"
CELL = CellDescription(id="c1", label=HOSTILE, system=HOSTILE, levels={})
TIMES = {"mean_ms": 1.0, "p50_ms": 1.0, "p95_ms": 1.5, "p99_ms": 2.0, "max_ms": 3.0}
COUNTS = {"reads": 0, "writes": 0, "others": 0, "retries": 0, "retries_after_conflict": 0, "reconnects": 0}
#: With existing servers, warnings and a long title.
PLAN = f"""title = {json.dumps(HOSTILE)}
threads = [1, 2]
[systems.null]
[systems.old]
kind = "mariadb"
address = "127.0.0.1"
user = "u"
tls = false
[workload]
kind = "ycsb"
[measure]
reset = "reload"
"""
__all__ = ["axe"]


def going() -> str:
    events: list[Event] = [
        Begin(bakeoff_version="1", title=HOSTILE, bundle="/b", cells=[CELL], runs=4, runs_done=1),
        RunBegins(run="b01-c1", cell="c1", block=1),
        Phase(run="b01-c1", phase="running"),
    ]
    for at_s in range(9):
        measured = {"length_s": 1.0, "warm_up": at_s < 2, "ok": 900, "errors": 0, "rate_ops_per_s": 900.0 + at_s}
        events.append(Second(run="b01-c1", second=at_s, **measured, **TIMES, **COUNTS))
        figures = {"os.cpu_user_s_per_s": 0.5, "machine.cpu_busy_s_per_s": 1.5}
        events.append(Sampled(run="b01-c1", second=float(at_s), nodes=[], figures=figures))
    now = Going()
    now.add(events)
    assert now.run is not None
    return pages.going(HOSTILE, now, pages.chart_of(now.run))


def history(folder: Path) -> str:
    for name in ("one", "two"):
        write_bundle(folder / name, SMALL)
    annotate(folder / "one", HOSTILE)
    return pages.history([listed(folder / name) for name in ("one", "two")], HOSTILE, 2, ["two"])


def plan(folder: Path, text: str) -> str:
    """The editor, with what was found of this text."""
    (folder / "mine.toml").write_text(PLAN)
    plans = Plans(folder, folder)
    summary, found = pages.checked(plans.check(text, "mine.toml", asking=False))
    page = pages.plan(plans).replace('<div id="found"></div>', f'<div id="found">{found}</div>')
    return page.replace("Nothing to check yet.", escape(summary))


def systems() -> str:
    installs = Installs()
    with TemporaryFile() as said:
        said.write(f"error: {HOSTILE}\n".encode())
        said.flush()
        for kind, code in (("mariadb", 2), ("redis", None)):
            process = cast(Popen[bytes], SimpleNamespace(poll=lambda code=code: code))
            installs._of[kind] = Install([kind], process, said)
        return pages.systems(installs, allowed=True)


@pytest.mark.parametrize("look", [(), (DARK,)])
@pytest.mark.parametrize("name", ["history", "going", "trouble", "plan", "wrong plan", "systems"])
def test_no_page_has_a_serious_violation(
    chromium: Chromium, axe: str, tmp_path: Path, name: str, look: tuple[str, ...]
) -> None:
    made = {
        "history": lambda: history(tmp_path),
        "going": going,
        "trouble": lambda: pages.trouble("No", HOSTILE),
        "plan": lambda: plan(tmp_path, PLAN),
        "wrong plan": lambda: plan(tmp_path, f'{PLAN}\n"{HOSTILE}" = 1'),
        "systems": systems,
    }
    html = made[name]()
    page = tmp_path / "page.html"
    page.write_text(html.replace('<link rel="stylesheet" href="/serve.css">', f"<style>{pages.style()}</style>"))
    assert violations(chromium, axe, page, *look) == []
    assert "run" not in chromium.ask(page, "document.title").split()
