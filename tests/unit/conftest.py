"""For tests without servers."""

from __future__ import annotations

import pytest
from bakeoff.systems.mysql.mariadb import MariaDb


@pytest.fixture
def mariadb_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans may start MariaDB on any machine."""
    monkeypatch.setattr(MariaDb, "available", classmethod(lambda cls, options: None))
