"""What a user waits for is said, and what is quick is not."""

from __future__ import annotations

import time

import pytest
from bakeoff import terminal


def test_what_takes_long_is_said_with_how_far_it_has_come(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal, "SAID_AFTER_S", 0.0)
    monkeypatch.setattr(terminal, "SAID_EVERY_S", 0.0)
    said = ""
    with terminal.said_if_slow("apt fetches mariadb", lambda: "3 MiB fetched"):
        while said.count("\n") < 2:
            time.sleep(0.01)
            said += capsys.readouterr().err
    assert said.splitlines()[0] == "apt fetches mariadb: 0 s so far, 3 MiB fetched"


def test_what_ends_at_once_is_not_said(capsys: pytest.CaptureFixture[str]) -> None:
    with terminal.said_if_slow("nothing"):
        pass
    assert capsys.readouterr().err == ""
