"""LinkBench in a plan: property files of the original, its distribution file, and what is said of them."""

import math
from pathlib import Path
from typing import Any

import pytest
from bakeoff.errors import PlanError
from bakeoff.workloads import workloads
from bakeoff.workloads.base import Workload
from bakeoff.workloads.linkbench import (
    LOSS_MAX,
    LOSS_OF_TAIL_MAX,
    MAPPED,
    SHARES,
    STREAMS,
    Point,
    read_distribution,
    thinned,
)
from builders.workloads import ROOT, decided
from builders.workloads import refused as refused_of

#: Settings of the original's workload file, which are those that hold without one.
WORKLOAD = """
data_file = config/Distribution.dat
startid1 = 1
maxid1 = 10000001
link_type_count = 2
nlinks_func = real
link_datasize = 8
link_add_datagen = com.facebook.LinkBench.generators.MotifDataGenerator
link_add_datagen_startbyte = 32
link_add_datagen_endbyte = 100
link_add_datagen_uniqueness = 0.225
link_add_datagen_motif_length = 128
node_datasize = 128
node_up_datagen = com.facebook.LinkBench.generators.MotifDataGenerator
node_up_datagen_startbyte = 50
node_up_datagen_endbyte = 220
node_up_datagen_uniqueness = 0.63
id2gen_config = 0
addlink = 8.9886601
deletelink = 2.9907664
updatelink = 8.0122125
countlink = 4.8863567
getlink = 0.5261142
getlinklist = 50.7119145
getnode = 12.9326683
addnode = 2.5732789
updatenode = 7.366437
deletenode = 1.0115914
getlinklist_history = 0.3
read_function = com.facebook.LinkBench.distributions.ZipfDistribution
read_shape = 0.8
read_uncorr_blend = 99.5
read_uncorr_function = com.facebook.LinkBench.distributions.ZipfDistribution
read_uncorr_shape = 0.8
write_function = com.facebook.LinkBench.distributions.ZipfDistribution
write_shape = 0.741
write_uncorr_blend = 95
write_uncorr_shape = 0.741
write_uncorr_config = 1
node_read_function = com.facebook.LinkBench.distributions.ZipfDistribution
node_read_shape = 0.625
node_update_function = com.facebook.LinkBench.distributions.ZipfDistribution
node_update_shape = 0.606
node_delete_function = com.facebook.LinkBench.distributions.UniformDistribution
link_multiget_dist = com.facebook.LinkBench.distributions.GeometricDistribution
link_multiget_dist_min = 1
link_multiget_dist_max = 128
link_multiget_dist_prob = 0.382
"""
CONFIG = """
workload_file = config/FBWorkload.properties
linkstore = com.facebook.LinkBench.LinkStoreMysql
host = yourhostname.here
password = mysqlpass
loaders = 10
requesters = 100
requests = 500000
requestrate = 2.5
maxtime = 100000
warmup_time = 0
maxid1 = 5001
# mysql_bulk_insert_batch = 1024
mysql_disable_binlog_load = true
"""


def of_file(folder: Path, text: str, **options: Any) -> Workload:
    (folder / "Own.properties").write_text(text)
    return decided("linkbench", {"linkbench_file": "Own.properties", **options}, folder)


def refused(folder: Path, text: str) -> PlanError:
    (folder / "Own.properties").write_text(text)
    return refused_of("linkbench", {"linkbench_file": "Own.properties"}, folder)


def test_the_original_s_workload_file_says_what_holds_without_one(tmp_path: Path) -> None:
    found, ours = of_file(tmp_path, WORKLOAD), decided("linkbench", {"size": "1x"})
    assert found.spec == ours.spec
    assert found.advice == [
        "property `write_uncorr_config` of the original has no effect in bakeoff and is ignored",
        "config/Distribution.dat does not exist: bakeoff's own table gives the number of links per node",
    ]


def test_a_configuration_goes_before_the_workload_file_that_it_names(tmp_path: Path) -> None:
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / "FBWorkload.properties").write_text(WORKLOAD)
    (folder / "MyConfig.properties").write_text(CONFIG)
    found = decided("linkbench", {"linkbench_file": "config/MyConfig.properties"}, tmp_path)
    assert (found.spec["maxid1"], found.spec["addlink"]) == (5001, 8.9886601)
    hints = found.hints
    assert (hints.threads, hints.rate_ops_per_s, hints.operations) == (100, 250.0, 50_000_000)
    assert hints.window_s == 100_000.0
    # What holds a password is kept in no bundle.
    assert found.sources == [folder / "FBWorkload.properties"]
    assert "MyConfig.properties contains a password, so the bundle keeps no copy of it" in found.advice
    assert any("`host`" in words and "[systems.NAME]" in words for words in found.advice)


def test_a_plan_s_options_go_before_those_of_the_file(tmp_path: Path) -> None:
    found = of_file(tmp_path, WORKLOAD, size="0.01x", addlink=1, nlinks_func={"kind": "constant", "links": 3})
    assert (found.spec["maxid1"], found.spec["addlink"]) == (100_001, 1)
    assert found.spec["nlinks_func"] == {"kind": "constant", "links": 3}


def test_what_a_file_leaves_out_is_as_the_original_has_it(tmp_path: Path) -> None:
    found = of_file(tmp_path, "getlink = 5\nread_function = ZipfDistribution\nread_shape = 0.7\n")
    assert (found.spec["link_multiget_dist_min"], found.spec["link_multiget_dist_max"]) == (1, 2)
    assert found.spec["read_uncorr_blend"] == 0.0


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("\nadd_link = 5", "unknown property `add_link`", "did you mean `addlink`?"),
        ("\naddlink = many", "`addlink` must be a number, not `many`", ""),
        ("\nmaxid1 = 1.5", "`maxid1` must be a whole number", ""),
        ("\nread_function = REAL", "`read_function` cannot be REAL", "ZipfDistribution"),
        ("\nread_function = ZipfDistribution", "`read_shape` is missing", "such as 0.8"),
        ("\nnlinks_func = RECIPROCAL", "`nlinks_func` cannot be RECIPROCAL", "constant"),
        ("\nrandomid2max = 7", "`randomid2max` must be 0", "after"),
        ("\nlink_add_datagen = x.Other", "`link_add_datagen` cannot be x.Other", "MotifDataGenerator"),
        ("\nlink_up_datagen = MotifDataGenerator", "`link_up_datagen_startbyte` is missing", "parts"),
        ("\nworkload_file = no.properties", "the workload file `no.properties` does not exist", "next to"),
    ],
)
def test_a_wrong_property_is_refused_with_its_line(tmp_path: Path, text: str, what: str, hint: str) -> None:
    error = refused(tmp_path, text)
    assert what in error.what
    assert str(error.where).endswith("Own.properties, line 2")
    assert hint in (error.hint or "")


def test_every_property_that_is_read_is_an_option_of_ours() -> None:
    options = set(workloads()["linkbench"].option_names)
    assert {*MAPPED, *SHARES, *(f"{stream}_function" for stream in STREAMS)} <= options


# ---- The distribution file ----


def observed() -> list[Point]:
    """Twenty thousand points of a smooth tail with small steps, such as the original's file has."""
    points = [(0, 45.0)]
    for links in [*range(1, 19_000), *range(19_000, 900_000, 900)]:
        tail = 0.5 * (links + 1) ** -1.4 * (1 + 1e-3 * math.sin(links))
        points.append((links, max(points[-1][1], 100 * (1 - tail))))
    return [*points, (961_963, 100.0)]


def test_few_points_tell_all_others() -> None:
    points = observed()
    kept = thinned(points)
    assert len(points) > 19_000
    assert len(kept) < 300
    assert kept[:11] == points[:11]
    assert kept[-1] == points[-1]
    place = 0
    for links, percent in points[11:-1]:
        while kept[place + 1][0] < links:
            place += 1
        (low, percent_low), (high, percent_high) = kept[place], kept[place + 1]
        above, above_high, actual = (1 - p / 100 for p in (percent_low, percent_high, percent))
        way = math.log(links / low) / math.log(high / low)
        told = above * (above_high / above) ** way if above_high > 0 else above * (1 - way)
        assert abs(told - actual) <= min(LOSS_MAX, LOSS_OF_TAIL_MAX * actual) * 1.001, links


def test_the_links_of_nodes_are_taken_from_the_file_next_to_theirs(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    data = tmp_path / "config/Distribution.dat"
    data.write_text("node_nreads\n1 100\nnlinks\n0 50\n1 75\n4 99.9999999\nlink_nreads\n7 100\n")
    assert read_distribution(data) == [(0, 50.0), (1, 75.0), (4, 100.0)]
    found = of_file(tmp_path, "nlinks_func = real\ndata_file = config/Distribution.dat\nmaxid1 = 101\n")
    assert found.spec["nlinks_func"] == {"kind": "real", "points": [[0, 50.0], [1, 75.0], [4, 100.0]]}
    assert found.sources[-1] == data


@pytest.mark.parametrize(
    ("text", "what", "line"),
    [
        ("nlinks\n0 50\n0 60\n", "points must increase", ", line 3"),
        ("nlinks\n0 fifty\n", "not a number of links and a percentage", ", line 2"),
        ("link_nreads\n0 50\n", "the section `nlinks` is missing", ""),
    ],
)
def test_what_is_no_distribution_is_refused(tmp_path: Path, text: str, what: str, line: str) -> None:
    path = tmp_path / "Distribution.dat"
    path.write_text(text)
    with pytest.raises(PlanError) as error:
        read_distribution(path)
    assert error.value.what == what
    assert error.value.where == f"{path}{line}"


def test_the_page_names_every_request() -> None:
    page = (ROOT / "docs/reference/workloads/linkbench.md").read_text()
    assert all(f"| `{share}` |" in page for share in (*SHARES, "getlinklist_history"))
