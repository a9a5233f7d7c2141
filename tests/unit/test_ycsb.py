"""YCSB in a plan: presets, options, property files of the original, and the identity of its data."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from bakeoff.errors import PlanError
from bakeoff.workloads import workloads
from bakeoff.workloads.base import Workload
from bakeoff.workloads.property_files import parse
from bakeoff.workloads.ycsb import DISTRIBUTION_DEFAULTS, HINTS, LENGTH_DEFAULTS, MAPPED
from builders.workloads import ROOT, decided
from builders.workloads import refused as refused_of

OPTIONS = workloads()["ycsb"].option_names
PRESETS = workloads()["ycsb"].presets


def ycsb(**options: Any) -> Workload:
    return decided("ycsb", options)


def from_file(folder: Path, text: str, **options: Any) -> Workload:
    (folder / "workload").write_text(text, encoding="latin-1")
    return decided("ycsb", {"ycsb_file": "workload", **options}, folder)


def refused(**options: Any) -> PlanError:
    return refused_of("ycsb", options)


def operations(workload: Workload) -> dict[str, float]:
    """Share of each operation in the mix; those without one are left out."""
    weights = {name.removesuffix("_proportion"): w for name, w in workload.spec.items() if name.endswith("_proportion")}
    return {name: weight / sum(weights.values()) for name, weight in weights.items() if weight}


# ---- Presets and options ----


@pytest.mark.parametrize(
    ("preset", "mix", "distribution"),
    [
        ("a", {"read": 0.5, "update": 0.5}, "zipfian"),
        ("b", {"read": 0.95, "update": 0.05}, "zipfian"),
        ("c", {"read": 1.0}, "zipfian"),
        ("d", {"read": 0.95, "insert": 0.05}, "latest"),
        ("e", {"scan": 0.95, "insert": 0.05}, "zipfian"),
        ("f", {"read": 0.5, "read_modify_write": 0.5}, "zipfian"),
        ("lx-load", {"insert": 1.0}, "uniform"),
        ("lx-read", {"read": 1.0}, "uniform"),
        ("lx-update", {"update": 1.0}, "uniform"),
        ("lx-scan", {"scan": 1.0}, "uniform"),
        ("lx-scan-500-1500", {"scan": 1.0}, "uniform"),
        ("lx-scan-to-end", {"scan": 1.0}, "uniform"),
        ("lx-read-update", {"read": 0.5, "update": 0.5}, "uniform"),
    ],
)
def test_a_preset_is_the_published_mix(preset: str, mix: dict[str, float], distribution: str) -> None:
    workload = ycsb(preset=preset)
    assert operations(workload) == pytest.approx(mix)
    assert workload.spec["request_distribution"]["kind"] == distribution
    assert workload.writes == bool(mix.keys() - {"read", "scan"})


def test_every_preset_is_described() -> None:
    assert len(PRESETS) == 13
    assert all(PRESETS.values())


def test_the_readings_of_the_scan_scenario_differ_in_how_they_scan() -> None:
    scans = {name: ycsb(preset=name).spec for name in ("lx-scan", "lx-scan-500-1500", "lx-scan-to-end")}
    lengths = {name: (s["min_scan_length"], s["max_scan_length"], s["scan_last_keys"]) for name, s in scans.items()}
    assert lengths["lx-scan"] == (1, 1000, None)
    assert lengths["lx-scan-500-1500"] == (500, 1500, None)
    assert lengths["lx-scan-to-end"][2] == 2000


def test_an_option_goes_before_the_file_the_file_before_the_preset(tmp_path: Path) -> None:
    text = "readproportion=0.7\nrequestdistribution=latest\nrecordcount=50\n"
    workload = from_file(tmp_path, text, preset="a", records=99)
    assert workload.spec["records"] == 99
    assert workload.spec["read_proportion"] == 0.7
    assert workload.spec["update_proportion"] == 0.5
    assert workload.spec["request_distribution"] == {"kind": "latest"}
    assert workload.spec["field_count"] == 10


@pytest.mark.parametrize(
    ("options", "what", "hint"),
    [
        ({"record": 1}, "unknown option `record`", "`records`"),
        ({"preset": "lx-laod"}, '`preset` cannot be "lx-laod"', "did you mean `lx-load`?"),
        ({"preset": "q"}, '`preset` cannot be "q"', "a, b, c"),
        ({"records": 0}, "`records` cannot be 0", "from 1"),
        ({"records": "many"}, '`records` cannot be "many"', "whole number"),
        ({"records": True}, "`records` cannot be true", "whole number"),
        ({"read_proportion": -1}, "`read_proportion` cannot be -1", "from 0"),
        ({"insert_start": 900, "insert_count": 200}, "slice", "at most records"),
        ({"insert_start": 1000}, "slice", "at most records"),
        ({"key_length": 20}, "do not fit into 20", "key_length"),
        ({"zero_padding": 300}, "do not fit into 255", "zero_padding"),
        ({"value_varchar": 99}, "do not fit into `value_varchar` 99", "TEXT"),
        ({"data_integrity": True, "field_length_distribution": "zipfian"}, "one length", "constant"),
        ({"min_field_length": 101, "field_length_distribution": "uniform"}, "`min_field_length` 101", "lower"),
        ({"read_proportion": 0, "update_proportion": 0}, "are 0", "weight"),
        ({"min_scan_length": 1001}, "`min_scan_length` 1001", "lower"),
        ({"scan_last_keys": 1001}, "`scan_last_keys` 1001", "records"),
        ({"request_distribution": "zipf"}, '`request_distribution` cannot be "zipf"', "zipfian_exact, latest"),
        (
            {"request_distribution": {"kind": "zipfian_exact", "theta": 1}},
            "`request_distribution` `theta` cannot be 1",
            "below 1",
        ),
        ({"request_distribution": {"theta": 1}}, '`request_distribution` cannot be {"theta":1}', "kind"),
        ({"request_distribution": 3}, "`request_distribution` cannot be 3", "a table such as"),
        ({"payload": "binary"}, '`payload` cannot be "binary"', "printable, compat"),
        ({"field_length_distribution": "normal"}, '`field_length_distribution` cannot be "normal"', "histogram"),
        ({"field_length_distribution": {"kind": "histogram", "block_size": 1}}, "needs `buckets`", ""),
        ({"request_distribution": {"kind": "uniform", "theta": 1}}, "no part `theta`", ""),
        ({"ycsb_file": "no/such/file"}, "cannot be read: No such file", "relative to the plan"),
    ],
)
def test_impossible_options_are_refused_with_a_hint(options: dict[str, Any], what: str, hint: str) -> None:
    error = refused(**options)
    assert what in error.what
    assert hint in error.hint
    assert error.exit_code == 2


# ---- Property files of the original ----


@pytest.mark.parametrize("letter", "abcdef")
def test_the_files_of_the_core_workloads_are_the_presets(letter: str) -> None:
    from_its_file = ycsb(ycsb_file=f"plans/ycsb/workload{letter}").spec
    preset = ycsb(preset=letter).spec
    assert from_its_file == {**preset, "operation_count": 1000}


def test_every_mapped_property_reaches_its_option(tmp_path: Path) -> None:
    said = {
        "table": ("t", "t"),
        "recordcount": ("5000", 5000),
        "insertstart": ("10", 10),
        "insertcount": ("4000", 4000),
        "operationcount": ("77", 77),
        "fieldcount": ("3", 3),
        "fieldlength": ("40", 40),
        "minfieldlength": ("4", 4),
        "fieldnameprefix": ("f", "f"),
        "readallfields": ("false", False),
        "readallfieldsbyname": ("TRUE", True),
        "writeallfields": ("true", True),
        "dataintegrity": ("true", True),
        "readproportion": ("0.1", 0.1),
        "updateproportion": ("0.2", 0.2),
        "insertproportion": ("0.3", 0.3),
        "scanproportion": ("0.15", 0.15),
        "readmodifywriteproportion": ("0.25", 0.25),
        "minscanlength": ("2", 2),
        "maxscanlength": ("9", 9),
        "scanlengthdistribution": ("zipfian", "zipfian"),
        "insertorder": ("ordered", "ordered"),
        "zeropadding": ("12", 12),
        "core_workload_insertion_retry_limit": ("6", 6),
        "core_workload_insertion_retry_interval": ("2", 2.0),
        "db.batchsize": ("250", 250),
        "jdbc.autocommit": ("false", 0),
    }
    assert said.keys() == MAPPED.keys()
    spec = from_file(tmp_path, "\n".join(f"{name}={text}" for name, (text, _) in said.items())).spec
    assert {name: spec[MAPPED[name][0]] for name in said} == {name: value for name, (_, value) in said.items()}


def test_distributions_take_their_parts_from_the_file(tmp_path: Path) -> None:
    hotspot = "requestdistribution=hotspot\nhotspotdatafraction=0.1\nhotspotopnfraction=0.9"
    assert from_file(tmp_path, hotspot).spec["request_distribution"] == {
        "kind": "hotspot",
        "data_fraction": 0.1,
        "operation_fraction": 0.9,
    }
    exponential = from_file(tmp_path, "requestdistribution=exponential\nexponential.frac=0.5")
    assert exponential.spec["request_distribution"] == {"kind": "exponential", "percentile": 95.0, "fraction": 0.5}


def test_what_the_original_means_by_zero_is_kept(tmp_path: Path) -> None:
    workload = from_file(tmp_path, "recordcount=0\noperationcount=0\ntarget=0\nmaxexecutiontime=0\ndb.batchsize=-1")
    assert workload.spec["records"] == 2**31 - 1
    assert workload.spec["operation_count"] is None
    assert workload.spec["batch_size"] == 1
    assert (workload.hints.operations, workload.hints.rate_ops_per_s, workload.hints.window_s) == (None, None, None)


def test_threads_rate_and_limit_are_handed_on(tmp_path: Path) -> None:
    hints = from_file(tmp_path, "threadcount=8\ntarget=500\noperationcount=9000\nmaxexecutiontime=60").hints
    assert (hints.threads, hints.rate_ops_per_s, hints.operations, hints.window_s) == (8, 500.0, 9000, 60.0)


def test_a_histogram_of_field_lengths_is_read_next_to_its_file(tmp_path: Path) -> None:
    (tmp_path / "h.txt").write_text("BlockSize\t100\n0\t10\n2\t30\n")
    workload = from_file(tmp_path, "fieldlengthdistribution=histogram\nfieldlengthhistogram=h.txt\nfieldcount=1")
    assert workload.spec["field_length_distribution"] == {
        "kind": "histogram",
        "block_size": 100,
        "buckets": [[0, 10], [2, 30]],
    }
    assert workload.size_estimate_bytes == 1000 * (23 + 250)


@pytest.mark.parametrize("text", ["", "0\t10\n", "BlockSize\tten\n", "BlockSize\t10\n1\n", "BlockSize\t10\nx\t1\n"])
def test_a_broken_histogram_is_refused_by_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "hist.txt").write_text(text)
    with pytest.raises(PlanError, match="histogram") as error:
        from_file(tmp_path, "fieldlengthdistribution=histogram")
    assert "hist.txt" in error.value.where


def test_what_belongs_elsewhere_is_named_as_ignored(tmp_path: Path) -> None:
    text = "jdbc.fetchsize=10\ndb.passwd=secret\nhdrhistogram.percentiles=50\nmeasurementtype=raw\nmongodb.url=x"
    workload = from_file(tmp_path, f"workload=site.ycsb.workloads.CoreWorkload\nrecordcount=5\n{text}")
    names = {"jdbc.fetchsize", "db.passwd", "hdrhistogram.percentiles", "measurementtype", "mongodb.url"}
    assert {name for words in workload.advice for name in re.findall("`(.+)`", words)} == names
    assert "secret" not in repr(workload)


@pytest.mark.parametrize(
    ("line", "what", "hint"),
    [
        ("recordcuont=5", "unknown property `recordcuont`", "`recordcount`"),
        ("recordcount=5k", "`recordcount` must be a whole number, not `5k`", ""),
        ("readproportion=half", "`readproportion` must be a number", ""),
        ("requestdistribution=zipf", "unknown request distribution `zipf`", "zipfian"),
        ("workload=site.ycsb.workloads.TimeSeriesWorkload", "is not CoreWorkload", "CoreWorkload"),
    ],
)
def test_a_wrong_line_is_refused_with_its_number(tmp_path: Path, line: str, what: str, hint: str) -> None:
    with pytest.raises(PlanError) as error:
        from_file(tmp_path, f"# a comment\nfieldcount=3\n{line}\n")
    assert what in error.value.what
    assert hint in error.value.hint
    assert error.value.where.endswith("workload, line 3")


def test_a_value_of_the_file_that_cannot_be_is_placed_in_the_file(tmp_path: Path) -> None:
    with pytest.raises(PlanError) as error:
        from_file(tmp_path, "scanlengthdistribution=latest")
    assert error.value.where == "workload, as `scan_length_distribution`"


# ---- Java property syntax ----


def test_property_files_are_read_as_java_reads_them() -> None:
    text = r"""
# comment = no
   ! another
plain=value
  spaced   :   out
bare key words
empty
colon:a=b
es\=caped\ key=1
unicode=caf\u00e9 \t|
continued=one,\
          two,\
    three
# not continued \
after=comment
even=back\\
twice=1
twice=2
"""
    found = {key: prop.value for key, prop in parse(text).items()}
    assert found == {
        "plain": "value",
        "spaced": "out",
        "bare": "key words",
        "empty": "",
        "colon": "a=b",
        "es=caped key": "1",
        "unicode": "café \t|",
        "continued": "one,two,three",
        "after": "comment",
        "even": "back\\",
        "twice": "2",
    }
    assert parse(text)["continued"].line == 11
    assert parse("a=1\r\nb=2\rc=3\\")["b"].line == 2


# ---- Identity ----


def test_what_is_asked_and_how_it_is_loaded_do_not_change_the_data() -> None:
    base = ycsb(preset="a").dataset
    for same in (
        {"preset": "c"},
        {"preset": "e", "request_distribution": "uniform"},
        {"preset": "a", "batch_size": 1, "ops_per_transaction": 5, "write_all_fields": True},
        {"preset": "a", "operation_count": 10, "min_field_length": 7},
    ):
        assert ycsb(**same).dataset == base, same


def test_what_shapes_the_data_changes_its_identity() -> None:
    identities = [
        ycsb(preset="a").dataset,
        decided("ycsb", {"preset": "a"}, seed=2).dataset,
        *(
            ycsb(preset="a", **other).dataset
            for other in (
                {"records": 1001},
                {"insert_start": 1},
                {"insert_count": 999},
                {"field_count": 9},
                {"field_length": 99},
                {"field_length_distribution": "uniform"},
                {"field_length_distribution": "uniform", "min_field_length": 2},
                {"payload": "compat"},
                {"data_integrity": True},
                {"insert_order": "ordered"},
                {"zero_padding": 30},
                {"table": "other"},
                {"field_prefix": "f"},
                {"value_varchar": 100},
            )
        ),
    ]
    assert len(set(identities)) == len(identities)


# ---- The reference page ----


def test_the_reference_pages_name_every_option_preset_and_property() -> None:
    page = "".join(
        (ROOT / f"docs/reference/workloads/{name}.md").read_text() for name in ("ycsb", "ycsb-property-files")
    )
    named = set(re.findall(r"`([^`\n]+)`", re.sub(r"```.+?```", "", page, flags=re.DOTALL)))
    properties = {*MAPPED, *DISTRIBUTION_DEFAULTS, *LENGTH_DEFAULTS, *HINTS}
    assert {*OPTIONS, *PRESETS, *properties} <= named


def test_the_example_of_the_reference_page_is_accepted() -> None:
    page = (ROOT / "docs/reference/workloads/ycsb.md").read_text()
    (example,) = re.findall(r"```toml\n(.+?)```", page, re.DOTALL)
    table = tomllib.loads(example)["workload"]
    assert table.pop("kind") == "ycsb"
    assert operations(ycsb(**table)) == {"read": 0.95, "update": 0.05}
