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


def test_a_program_that_a_crate_brings_along_has_its_own_licence(tmp_path: Path) -> None:
    brought = tmp_path / "lmdb/libraries/liblmdb"
    brought.mkdir(parents=True)
    for name in ("COPYRIGHT", "LICENSE"):
        (brought / name).write_text(f"OpenLDAP {name}\n")
    manifest = str(tmp_path / "Cargo.toml")
    crate = {"name": "lmdb-master-sys", "license": "Apache-2.0", "manifest_path": manifest}
    assert notices.texts_of(crate) == ["OpenLDAP COPYRIGHT", "OpenLDAP LICENSE"]


def test_a_crate_without_a_licence_file_has_to_offer_the_licence_of_bakeoff() -> None:
    crate = {"name": "x", "version": "1.0.0", "license": "MIT OR Apache-2.0"}
    assert notices.name_of_apache_crate(crate) == "x 1.0.0"
    assert notices.name_of_apache_crate({**crate, "license": "0BSD"}) == "x 1.0.0"
    with pytest.raises(SystemExit, match=r"x 1.0.0 has no licence file and is not offered under Apache-2.0: MIT"):
        notices.name_of_apache_crate({**crate, "license": "MIT"})


def test_every_crate_of_the_engine_has_its_notice() -> None:
    text = notices.notices("x86_64")
    assert "mlua 0." in text
    assert "Mike Pall" in text, "LuaJIT is compiled into a crate that needs it only when it is built"
