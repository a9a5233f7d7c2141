"""What a system of several nodes says is kept by their names, from the looks to the report's panels."""

from __future__ import annotations

import os
import time
from typing import Any, cast

import numpy as np
from bakeoff.charts.series import Series
from bakeoff.charts.server import metrics_of
from bakeoff.schedule.nodes import by_node, facts_of
from bakeoff.schedule.sampler import Sampler
from bakeoff.systems.base import Facts
from builders.systems import Told
from unit.test_schedule_sampler import system

TWO = [
    Told("a", pids=(os.getpid(),), counters={"commits": 5.0}, gauges={"dirty": 1.0}, debt={"dirty_bytes": 8.0}),
    Told("b", pids=(os.getppid(),), counters={"commits": 7.0}, gauges={"dirty": 2.0}, debt={"dirty_bytes": 9.0}),
]


def test_a_single_server_is_told_without_its_name() -> None:
    assert by_node(TWO[:1], lambda node: node.debt()) == {"dirty_bytes": 8.0}


def test_debt_is_kept_by_node() -> None:
    assert by_node(TWO, lambda node: node.debt()) == {"a.dirty_bytes": 8.0, "b.dirty_bytes": 9.0}


def test_of_other_nodes_the_facts_say_what_they_have_otherwise() -> None:
    first = Facts("MariaDB", "10.11.4", {"io": "1", "pool": "2"}, {"durability": "full", "tls": "off"})
    other = Facts("MariaDB", "10.11.6", {"io": "1", "pool": "4"}, {"durability": "none", "tls": "off"})
    found = facts_of([Told("a", facts=first), Told("b", facts=other), Told("c", facts=first)])
    assert (found.product, found.version) == ("MariaDB", "10.11.4 | 10.11.6")
    assert found.settings == {"io": "1", "pool": "2", "b.pool": "4"}
    assert found.portable == {"durability": "full", "tls": "off", "b.durability": "none"}


def test_the_figures_of_each_second_are_kept_by_node_and_those_of_all_beside_them() -> None:
    sampler = Sampler(cast(Any, system(nodes=lambda: TWO)), [os.getpid()], time.time_ns(), 0.0, 1.0, [0])
    sampler.last_look()
    (look,) = sampler._looks
    assert (look.counters["db.a.commits"], look.counters["db.b.commits"]) == (5.0, 7.0)
    assert (look.gauges["db.a.dirty"], look.gauges["db.b.dirty"]) == (1.0, 2.0)
    assert {"os.cpu_user_s", "os.a.cpu_user_s", "os.b.cpu_user_s"} <= set(look.counters)


def test_the_report_shows_the_panels_of_each_node_by_its_name() -> None:
    at = np.arange(5.0)
    columns = {name: Series(at, at) for name in ("os.rss_bytes", "os.a.rss_bytes", "os.b.rss_bytes", "db.b.dirty")}
    assert [metric.title for metric in metrics_of([columns])] == [
        "memory of the server's processes, bytes",
        "a: memory of the server's processes, bytes",
        "b: memory of the server's processes, bytes",
        "b.dirty",
    ]
