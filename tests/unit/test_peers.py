"""Peers: kinds that speak a product's protocol and are not it. They are labelled everywhere, and meet products only in
a demonstration."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
from bakeoff.cli import main
from bakeoff.errors import ExitCode
from bakeoff.findings.configuration import configuration_of
from bakeoff.plan.new_plan import starter
from bakeoff.report.answer import answer_of
from bakeoff.report.html.write import write_report
from bakeoff.systems import SYSTEMS
from bakeoff.systems.null import Null
from builders.bundles import MARIADB, PEER, SMALL, write_bundle

WORDS = "mongo (mongo-java-server) speaks MongoDB's protocol; its figures say nothing about MongoDB"


class MadeUp(Null):
    kind: ClassVar[str] = "made-up"
    summary: ClassVar[str] = "speaks ExampleDB's protocol"
    peer_of: ClassVar[str] = "ExampleDB"
    in_first_plan: ClassVar[bool] = True


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SYSTEMS, MadeUp.kind, MadeUp)


def plan(folder: Path, *systems: str, top: str = "", name: str = "plan.toml") -> str:
    path = folder / name
    tables = "\n".join(f"[systems.{system}]\nkind = '{system.partition('_')[0]}'" for system in systems)
    path.write_text(
        f"title = 't'\n{top}\n{tables}\n[workload]\nkind = 'ycsb'\nrecords = 100\n"
        "[measure]\nwarm_up = 0\nwindow = '1s'\nrepetitions = 1\n"
    )
    return str(path)


def test_a_peer_and_a_product_are_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = plan(tmp_path, "made-up", "null")
    for more in ([], ["--dry-run"]):
        assert main(["run", path, "--results", str(tmp_path / "out"), *more]) == ExitCode.USAGE
        said = capsys.readouterr().err
        assert "made-up is a peer of ExampleDB and null is a product" in said
        assert "demonstration = true" in said
    assert not (tmp_path / "out").exists()


def test_side_by_side_they_are_refused_as_in_one_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x").mkdir()
    peer = plan(tmp_path, "made-up", name="peer.toml")
    product = plan(tmp_path, "null", name="product.toml")
    assert main(["run", product, peer, "--dry-run"]) == ExitCode.USAGE
    assert "made-up is a peer of ExampleDB" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("systems", "top"),
    [
        (("made-up",), ""),
        (("made-up_a", "made-up_b"), ""),
        (("null", "made-up"), "demonstration = true"),
    ],
)
def test_the_dry_run_labels_peers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], systems: tuple[str, ...], top: str
) -> None:
    path = plan(tmp_path, *systems, top=top)
    assert main(["run", path, "--dry-run"]) == ExitCode.DONE
    shown = capsys.readouterr().out
    name = next(one for one in systems if one.startswith("made-up"))
    assert f"{name} (peer)" in shown
    assert "speaks ExampleDB's protocol; its figures say nothing about ExampleDB\n" in shown
    assert main(["run", path, "--dry-run", "--json"]) == ExitCode.DONE
    tree = json.loads(capsys.readouterr().out)
    assert tree["peers"]
    assert {cell["system"]: cell["peer_of"] for cell in tree["cells"]} == {
        one: "ExampleDB" if one.startswith("made-up") else "" for one in systems
    }


def test_a_run_leaves_the_label_in_its_bundle_its_answer_and_its_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = plan(tmp_path, "made-up", "null", top="demonstration = true")
    out = tmp_path / "bundle"
    assert main(["run", path, "--out", str(out), "--json", "--together", "--allow-disturbed"]) == ExitCode.DONE
    answer = json.loads(capsys.readouterr().out)["answer"]
    assert [cell["peer_of"] for cell in answer["cells"]] == ["ExampleDB", ""]
    assert "made-up (peer)" in answer["contestants"]
    facts = [json.loads(file.read_text()) for file in sorted(out.rglob("*.json")) if '"peer_of"' in file.read_text()]
    assert any(one.get("product") == "null driver" and one["peer_of"] == "ExampleDB" for one in facts)
    assert main(["export", str(out), "--json"]) == ExitCode.DONE
    rows = json.loads(capsys.readouterr().out)["runs"]
    assert {row["system"]: row["peer_of"] for row in rows} == {"made-up": "ExampleDB", "null": ""}
    page = (out / "report.html").read_text()
    assert "made-up (peer)" in page
    assert "its figures say nothing about ExampleDB" in page
    assert "This is a demonstration" in page


def test_bundles_of_peers_and_of_products_are_not_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def bundle(name: str, **changes: object) -> str:
        return str(write_bundle(tmp_path / name, replace(SMALL, **changes)).folder)

    product = bundle("product", contenders=(replace(MARIADB, name="mongo"),))
    peer = bundle("peer", contenders=(PEER,), demonstration=True)
    assert main(["compare", product, peer]) == ExitCode.USAGE
    said = capsys.readouterr().err
    assert "mongo is a peer of MongoDB" in said
    again = bundle("again", contenders=(PEER,), noise=0.03)
    assert main(["compare", peer, again]) == ExitCode.DONE
    assert "(peer)" in capsys.readouterr().out
    shown = bundle("shown", contenders=(MARIADB, PEER), demonstration=True)
    more = bundle("more", contenders=(MARIADB, PEER), demonstration=True, noise=0.03)
    assert main(["compare", shown, more]) == ExitCode.DONE


def test_the_report_says_it_in_its_answer_its_configuration_and_its_limits(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "b", replace(SMALL, contenders=(MARIADB, PEER), demonstration=True))
    answer = answer_of(bundle)
    assert answer.first.doubt.startswith(WORDS)
    assert f"{WORDS}." in answer.limits
    assert answer.contestants == ["mariadb", "mongo (peer)"]
    assert configuration_of(bundle).systems[1].where == "managed server, peer of MongoDB"
    page = write_report(bundle, tmp_path / "out")
    charts = [file.read_text() for file in (tmp_path / "out" / "charts").glob("*.svg")]
    assert any("mongo (peer)" in chart for chart in charts)
    assert "mongo (peer)" in page.html.read_text()


def test_where_the_system_is_a_setting_or_not_named_the_label_stays(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "b", replace(SMALL, contenders=(MARIADB, PEER), demonstration=True))
    bundle.plan = bundle.plan.model_copy(update={"compare_factor": "threads"})
    assert {cell.setting_words for cell in answer_of(bundle).cells} == {"mariadb", "mongo (peer)"}
    bundle = write_bundle(tmp_path / "alone", replace(SMALL, contenders=(PEER,)))
    bundle.plan = bundle.plan.model_copy(update={"compare_factor": "threads"})
    assert answer_of(bundle).contestants == ["1 thread (peer)", "8 threads (peer)"]


def test_the_list_of_systems_says_whose_peer_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["systems"]) == ExitCode.DONE
    shown = capsys.readouterr().out
    assert "peers and emulators" in shown
    assert shown.index("made-up") > shown.index("peers and emulators")
    assert "ExampleDB" in shown
    assert main(["systems", "--json"]) == ExitCode.DONE
    of = {one["kind"]: one["peer_of"] for one in json.loads(capsys.readouterr().out)["systems"]}
    assert (of["made-up"], of["mariadb"]) == ("ExampleDB", "")


def test_no_first_plan_compares_a_peer() -> None:
    assert "[systems.made-up]" not in starter("my.toml")
