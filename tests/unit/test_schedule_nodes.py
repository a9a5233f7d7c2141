"""What a system of several nodes says is kept by their names, from the looks to the report's panels."""

from __future__ import annotations

import os
import threading
import time
from itertools import pairwise
from typing import Any, cast

import numpy as np
from bakeoff.model.records.run import NodeSilence
from bakeoff.report.charts.scales import Series
from bakeoff.report.charts.server import metrics_of
from bakeoff.schedule.nodes import Look, NodeWatch, Processes, by_node, facts_of
from bakeoff.schedule.sampler import Sampler
from bakeoff.systems.base import Facts
from builders.systems import GivenNode
from unit.test_schedule_sampler import system

TWO = [
    GivenNode("a", pids=(os.getpid(),), counters={"commits": 5.0}, gauges={"dirty": 1.0}, debt={"dirty_bytes": 8.0}),
    GivenNode("b", pids=(os.getppid(),), counters={"commits": 7.0}, gauges={"dirty": 2.0}, debt={"dirty_bytes": 9.0}),
]


def test_a_single_server_is_reported_without_its_name() -> None:
    assert by_node(TWO[:1], lambda node: node.debt()) == {"dirty_bytes": 8.0}


def test_debt_is_kept_by_node() -> None:
    assert by_node(TWO, lambda node: node.debt()) == {"a.dirty_bytes": 8.0, "b.dirty_bytes": 9.0}


def test_of_other_nodes_the_facts_say_what_they_have_otherwise() -> None:
    first = Facts("MariaDB", "10.11.4", {"io": "1", "pool": "2"}, {"durability": "full", "tls": "off"})
    other = Facts("MariaDB", "10.11.6", {"io": "1", "pool": "4"}, {"durability": "none", "tls": "off"})
    found = facts_of([GivenNode("a", facts=first), GivenNode("b", facts=other), GivenNode("c", facts=first)])
    assert (found.product, found.version) == ("MariaDB", "10.11.4 | 10.11.6")
    assert found.settings == {"io": "1", "pool": "2", "b.pool": "4"}
    assert found.portable == {"durability": "full", "tls": "off", "b.durability": "none"}


def test_the_figures_of_each_second_are_kept_by_node_and_those_of_all_next_to_them() -> None:
    sampler = Sampler(cast(Any, system(nodes=lambda: TWO)), [os.getpid()], time.time_ns(), 0.0, 1.0, [0])
    sampler._looks = [Look(at_s, {"machine.dirty": at_s}, tick=tick) for tick, at_s in enumerate((0.0, 1.0, 2.0))]
    sampler._process_looks = [Look(at_s) for at_s in (0.0, 1.0, 2.0)]
    a, b = sampler._watches
    a.looks = [Look(0.1 + tick, {"commits": 5.0 * tick}, {"dirty": 1.0}, tick) for tick in range(3)]
    b.looks = [Look(2.5, {"commits": 7.0}, {"dirty": 2.0}, 2)]
    first, second = sampler.rows()
    assert (first["db.a.commits_per_s"], first["db.a.dirty"]) == (5.0, 1.0)
    assert not any(column.startswith("db.b") for column in first), "it did not answer yet"
    assert (second["db.a.commits_per_s"], second["db.b.dirty"]) == (5.0, 2.0)
    assert "db.b.commits_per_s" not in second, "there is nothing before it"
    sampler.last_look()
    assert {"os.cpu_user_s", "os.a.cpu_user_s", "os.b.cpu_user_s"} <= set(sampler._process_looks[-1].counters)


def test_a_counter_that_begins_again_has_no_rate_below_nothing() -> None:
    sampler = Sampler(cast(Any, system(nodes=lambda: TWO[:1])), [os.getpid()], time.time_ns(), 0.0, 1.0, [0])
    sampler._looks = [Look(at_s, tick=tick) for tick, at_s in enumerate((0.0, 1.0, 2.0))]
    sampler._process_looks = list(sampler._looks)
    sampler._watches[0].looks = [
        Look(float(tick), {"commits": value}, tick=tick) for tick, value in enumerate((9, 2, 5))
    ]
    assert [row.get("db.commits_per_s") for row in sampler.rows()] == [None, 3.0]


def test_what_a_server_used_before_it_was_started_again_is_not_forgotten() -> None:
    processes = Processes()
    seen = [
        processes.counted(pids, {"cpu_s": value} if value is not None else {})
        for pids, value in (([7], 3.0), ([7], 5.0), ([], None), ([9], 0.5), ([9], 1.0))
    ]
    assert [counters["cpu_s"] for counters in seen] == [3.0, 5.0, 5.0, 5.5, 6.0]


def test_a_server_whose_connections_come_and_go_is_the_same_server() -> None:
    """PostgreSQL has a process for each: 7 is the first, which takes over what those that ended had used."""
    processes = Processes()
    seen = [
        processes.counted(pids, {"cpu_s": value})["cpu_s"]
        for pids, value in (([7], 1.0), ([7, 8, 9], 3.0), ([7, 8], 4.0), ([7], 4.5), ([7, 10], 5.0))
    ]
    assert seen == [1.0, 3.0, 4.0, 4.5, 5.0]


def test_what_a_process_did_that_has_just_ended_is_not_taken_back_until_its_parent_has_it() -> None:
    processes = Processes()
    written = [processes.counted([7], {"write_bytes": value})["write_bytes"] for value in (90.0, 20.0, 95.0)]
    assert written == [90.0, 90.0, 95.0]
    assert processes.counted([8], {"write_bytes": 5.0}) == {"write_bytes": 100.0}


def test_a_node_that_answered_late_has_its_rate_over_the_true_time_between_its_answers() -> None:
    """Frozen when it was asked at 1 s, it answered 4 s later with what it had counted by then."""
    asked = [Look(0.0, {"commits": 0.0}), Look(1.0, {"commits": 500.0}, late_s=4.0), Look(6.0, {"commits": 600.0})]
    assert [after.rates(before)["commits_per_s"] for before, after in pairwise(asked)] == [100.0, 100.0]


class Slow(GivenNode):
    """Answers when it is told to."""

    def __init__(self, name: str) -> None:
        super().__init__(name, counters={"commits": 1.0})
        self.may = threading.Event()

    def counters(self) -> dict[str, float]:
        assert self.may.wait(30)
        return super().counters()


def test_a_frozen_node_keeps_no_other_waiting_and_is_named() -> None:
    slow, quick = Slow("b"), GivenNode("a", counters={"commits": 1.0})
    watches = [NodeWatch(node, time.time()) for node in (slow, quick)]
    for watch in watches:
        watch.start()
        watch.ask(0)
    assert watches[1].stop(30)
    assert not watches[0].stop(0.01)
    assert [len(watch.looks) for watch in watches] == [0, 1]
    slow.may.set()
    assert watches[0].stop(30)


def test_a_node_was_silent_when_it_was_asked_several_times_and_answered_nothing() -> None:
    watch = NodeWatch(GivenNode("n2"), 0.0)
    watch.looks = [Look(float(tick), {} if 5 <= tick < 9 else {"commits": 1.0}, tick=tick) for tick in range(21)]
    watch.last_asked = Look(23.0, tick=23)
    assert watch.silences(2.0) == [
        NodeSilence(node="n2", from_s=2.0, to_s=7.0),
        NodeSilence(node="n2", from_s=18.0),
    ]
    watch.last_asked = None
    watch.looks = [Look(5.0 * tick, {"commits": 1.0}, tick=tick) for tick in range(5)]
    assert watch.silences(0.0) == [], "nobody asked it more often"
    watch.looks = [Look(float(tick)) for tick in range(9)]
    assert watch.silences(0.0) == [], "it tells of nothing"


def test_what_each_node_has_is_in_one_panel_in_place_of_the_sum() -> None:
    at = np.arange(5.0)
    columns = {name: Series(at, at) for name in ("os.rss_bytes", "os.a.rss_bytes", "os.b.rss_bytes", "db.b.dirty")}
    assert [(metric.title, metric.columns) for metric in metrics_of([columns], ["a", "b"])] == [
        ("memory of the server's processes, bytes", {"a": "os.a.rss_bytes", "b": "os.b.rss_bytes"}),
        ("dirty", {"b": "db.b.dirty"}),
    ]
    of_one = {"os.rss_bytes": Series(at, at), "db.cache.hits_per_s": Series(at, at)}
    assert [(metric.title, metric.columns) for metric in metrics_of([of_one])] == [
        ("memory of the server's processes, bytes", {"": "os.rss_bytes"}),
        ("cache.hits, per second", {"": "db.cache.hits_per_s"}),
    ]


def test_what_nodes_owe_each_other_comes_before_what_each_does() -> None:
    at = np.arange(5.0)
    names = ("db.b.Log_fsyncs_per_s", "db.b.lag_s", "db.b.wsrep_local_recv_queue", "db.b.Questions_per_s")
    found = [metric.name for metric in metrics_of([{name: Series(at, at) for name in names}], ["a", "b"])]
    assert found[:3] == ["db.lag_s", "db.wsrep_local_recv_queue", "db.Log_fsyncs_per_s"]
