"""What `bakeoff doctor` says of this machine."""

from pathlib import Path
from typing import Any

import pytest
from bakeoff.cli.commands.doctor import _io_uring
from bakeoff.fleet import engine_program
from bakeoff.machine import fitness


@pytest.mark.parametrize(
    ("listing", "states"),
    [
        ({"io_uring_refusal": None}, ["good"]),
        ({"io_uring_refusal": "Operation not permitted (os error 1)"}, ["warning"]),
        ({}, []),  # an engine of another version: that is another finding
    ],
)
def test_io_uring_is_good_unless_the_engine_may_not_use_it(
    monkeypatch: pytest.MonkeyPatch, listing: dict[str, Any], states: list[str]
) -> None:
    monkeypatch.setattr(engine_program, "engine_list", lambda: listing)
    found = _io_uring()
    assert [finding.state for finding in found] == states
    assert all(str(listing["io_uring_refusal"]) in finding.words for finding in found if finding.state == "warning")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_a_disk_that_nothing_can_be_written_on_is_not_good() -> None:
    found = next(finding for finding in fitness(Path("/proc/nope/.cache"), listen_s=0.0) if finding.name == "disk")
    assert (found.state, "--work-dir" in found.hint) == ("missing", True)
