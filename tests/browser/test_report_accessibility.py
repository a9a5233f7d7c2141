"""axe-core finds nothing serious in reports, light and dark: contrast, names of charts, headers of tables, keyboard."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
from bakeoff.bundle.read import Bundle
from bakeoff.provision.cache import cache_dir
from bakeoff.report.html.write import write_report
from builders import nodes
from builders.bundles import MARIADB, SMALL, SQLITE, Story, write_bundle
from builders.chromium import DARK, Chromium, without_policy
from builders.promises import CIRCLE, PAIR, checked, lists

pytestmark = pytest.mark.browser

#: Carries axe-core 4.12.1; nothing else of it is used, nor what it depends on.
PACKAGE = "axe-playwright-python==0.1.8"
SHA256 = "84494fec757e4710dc751c8d7a636e457f4532f08f85c86dc9070133fbff53bc"
#: With all folds open.
ASK = """
    document.querySelectorAll("details").forEach((fold) => { fold.open = true; fold.hidden = false; });
    axe.run({resultTypes: ["violations"]}).then(({violations}) => {
        const told = document.createElement("pre");
        told.id = "told";
        told.textContent = JSON.stringify(violations
            .filter(({impact}) => ["serious", "critical"].includes(impact))
            .map(({id, nodes}) => [id, nodes.length, nodes[0].html.slice(0, 200)]));
        document.body.append(told);
    });
"""


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Its script, fetched once into the cache."""
    path = cache_dir() / f"axe-{SHA256[:12]}.js"
    if not path.exists():
        folder = tmp_path_factory.mktemp("axe")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), PACKAGE]
        subprocess.run(command, check=True)
        (wheel,) = folder.glob("*.whl")
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = path.with_suffix(f".{os.getpid()}")
        whole.write_bytes(zipfile.ZipFile(wheel).read("axe_playwright_python/axe.min.js"))
        whole.replace(path)
    text = path.read_bytes()
    assert hashlib.sha256(text).hexdigest() == SHA256, f"{path}: not axe-core as it was published; remove it"
    return text.decode()


def violations(chromium: Chromium, axe: str, page: Path, *options: str, planted: str = "") -> list[list[object]]:
    """Rules that the page breaks, how often, and the first element that does."""
    html = without_policy(page.read_text())
    copy = page.with_name("axe.html")
    copy.write_text(html.replace("</body>", f"{planted}<script>{axe}</script><script>{ASK}</script></body>"))
    dom = chromium.dom(copy, "--window-size=1280,800", "--virtual-time-budget=30000", *options)
    told = re.findall(r'<pre id="told">(.*?)</pre>', dom, re.DOTALL)
    assert told, "axe did not end"
    found: list[list[object]] = json.loads(unescape(told[-1]))
    return found


def over_threads(bundle: Bundle) -> None:
    bundle.plan.compare_factor = "threads"


def verified(bundle: Bundle) -> None:
    bundle.plan.resolved["verify"] = {}
    broken = checked("c01", seen=["P4"], judged=[lists("VIOLATED", CIRCLE)])
    bundle.verifications = [broken, checked("c02", system="sqlite_full")]


STORIES: dict[str, tuple[Story, Callable[[Bundle], None]]] = {
    "pairs": (SMALL, lambda _: None),
    "a sweep": (Story(presets=("a",), threads=(1, 4, 16), window_s=2, warm_up_s=1), over_threads),
    "a violated promise": (PAIR, verified),
    "a fault": (nodes.story(threads=(4,)), lambda _: None),
    "one system": (Story(contenders=(MARIADB,), presets=("a",), threads=(8,), window_s=2, warm_up_s=1), lambda _: None),
    "little differs": (
        Story(contenders=(MARIADB, SQLITE), presets=("a",), threads=(8,), window_s=2, warm_up_s=1, noise=0.001),
        lambda _: None,
    ),
}


@pytest.mark.parametrize("story", STORIES)
def test_no_report_has_a_serious_violation(chromium: Chromium, axe: str, tmp_path: Path, story: str) -> None:
    told, change = STORIES[story]
    bundle = write_bundle(tmp_path / "bundle", told)
    change(bundle)
    page = write_report(bundle).html
    assert violations(chromium, axe, page) == []
    assert violations(chromium, axe, page, DARK) == []


@pytest.mark.parametrize(
    ("planted", "rule"),
    [
        ('<p style="color: #ccc; background: #fff">hardly to be read</p>', "color-contrast"),
        ('<svg role="img"><circle r="9"/></svg>', "svg-img-alt"),
    ],
)
def test_a_violation_would_be_found(chromium: Chromium, axe: str, report: Path, planted: str, rule: str) -> None:
    assert [found[0] for found in violations(chromium, axe, report, planted=planted)] == [rule]
