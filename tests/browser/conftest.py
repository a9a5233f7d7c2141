"""Headless Chromium: BAKEOFF_CHROMIUM, else one on the PATH, else fetched from Debian packages without root."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from bakeoff.provision.debian import Debian, PackageSet
from bakeoff.report.html.write import write_report
from builders.bundles import Story, invalid, write_bundle
from builders.chromium import Chromium

_NAMES = ("chromium-headless-shell", "chromium-headless", "chromium", "chromium-browser")
#: PulseAudio keeps a library to itself, which its others do not find outside /usr; and a bare machine has no fonts.
_PACKAGES = Debian(
    "chromium-headless-shell",
    PackageSet(
        ("chromium-headless-shell", "fonts-dejavu-core"),
        "usr/lib/chromium/chromium-headless-shell",
        libraries=("usr/lib/*-linux-gnu*/pulseaudio",),
        environment={"FONTCONFIG_SYSROOT": "{root}"},
    ),
)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Chromium:
    scratch = tmp_path_factory.mktemp("chromium")
    found = os.environ.get("BAKEOFF_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    if found:
        return Chromium(Path(found), {}, scratch)
    installed = _PACKAGES.have()
    return Chromium(installed.program, dict(installed.environment), scratch)


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of four settings; one run is not valid."""
    story = Story(threads=(1, 8), window_s=20, warm_up_s=4, change=lambda r: invalid(r) if r.id == "b02-c02" else r)
    return write_report(write_bundle(tmp_path_factory.mktemp("report") / "bundle", story)).html
