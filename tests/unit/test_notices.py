"""Third-party notices of the wheel: `release/notices.py`."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

_SPEC = importlib.util.spec_from_file_location("notices", Path(__file__).parents[2] / "release/notices.py")
assert _SPEC is not None
assert _SPEC.loader is not None
notices = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(notices)


def test_a_crate_without_a_licence_file_has_to_offer_the_licence_of_bakeoff() -> None:
    crate = {"name": "x", "version": "1.0.0", "license": "MIT OR Apache-2.0"}
    assert notices.name_of_apache_crate(crate) == "x 1.0.0"
    with pytest.raises(SystemExit, match=r"x 1.0.0 has no licence file and is not offered under Apache-2.0: MIT"):
        notices.name_of_apache_crate({**crate, "license": "MIT"})
