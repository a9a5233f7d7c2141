"""The release build: its profile, and what a source distribution needs for it. Cargo does not strip the symbols of a
package that has a table of its own in the profile."""

import tomllib
from pathlib import Path

WORKSPACE = tomllib.loads((Path(__file__).parents[2] / "Cargo.toml").read_text())


def test_the_engine_has_the_profile_s_own_settings_and_every_other_package_one_codegen_unit() -> None:
    release = WORKSPACE["profile"]["release"]
    units = {name: table.get("codegen-units") for name, table in release["package"].items()}
    members = {f"bakeoff-{Path(member).name}" for member in WORKSPACE["workspace"]["members"]}
    assert release["strip"] == "symbols"
    assert "bakeoff-engine" not in units
    assert {name for name, count in units.items() if count == 1} == {"*", *members - {"bakeoff-engine"}}


def test_a_source_distribution_has_the_settings_with_which_luajit_is_built() -> None:
    manifest = (Path(__file__).parents[2] / "MANIFEST.in").read_text().split()
    assert ".cargo/config.toml" in manifest
