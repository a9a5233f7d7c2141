"""A setting that a server of the installed version does not know is refused before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.errors import BakeoffError, PlanError
from bakeoff.plan.read import resolve
from bakeoff.systems import SYSTEMS

PLAN = """
title = "t"
[systems.db]
kind = "{kind}"
{said}
[workload]
kind = "ycsb"
preset = "c"
records = 100
[measure]
window = "1 s"
repetitions = 1
"""


def need(kind: str, version: str | None = None) -> str:
    sources = SYSTEMS[kind].sources()
    assert sources is not None
    try:
        return sources.find(version).version
    except BakeoffError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("must_run", [True, False])
@pytest.mark.parametrize(
    ("kind", "product", "wrong", "right"),
    [
        ("mariadb", "MariaDB", "innodb_flush_neigbors", "innodb_flush_neighbors"),
        ("mysql", "MySQL", "innodb-flush-neigbors", "innodb_flush_neighbors"),
        ("galera", "MariaDB", "innodb_flush_neigbors", "innodb_flush_neighbors"),
        ("postgresql", "PostgreSQL", "work_mm", "work_mem"),
    ],
)
def test_a_misspelt_setting_is_refused_before_a_start(
    kind: str, product: str, wrong: str, right: str, must_run: bool, tmp_path: Path
) -> None:
    version = need(kind)
    setting = f"settings = {{ {wrong} = 1 }}"
    levels = f'[factors]\n"settings.{wrong}" = [1, 2]'
    in_table, in_factors = PLAN.format(kind=kind, said=setting), PLAN.format(kind=kind, said="") + levels
    for text, place in ((in_table, "[systems.db] settings"), (in_factors, "[factors] settings.")):
        with pytest.raises(PlanError) as refused:
            resolve(text, tmp_path, must_run=must_run)
        assert refused.value.what == f"{product} {version} does not know the setting {wrong.replace('-', '_')!r}"
        assert refused.value.hint == f"did you mean `{right}`?"
        assert place in refused.value.where


@pytest.mark.parametrize("kind", ["redis", "valkey"])
@pytest.mark.parametrize(("name", "value"), [("appendfsync", "everysecond"), ("maxmemry", "1gb")])
def test_what_redis_does_not_take_is_refused_before_a_start(kind: str, name: str, value: str, tmp_path: Path) -> None:
    need(kind)
    said = PLAN.format(kind=kind, said=f'settings = {{ {name} = "{value}" }}')
    with pytest.raises(PlanError, match=f"does not take the setting '{name} {value}'"):
        resolve(said, tmp_path)


@pytest.mark.parametrize("kind", ["redis", "valkey"])
def test_syncs_of_a_log_that_is_off_are_refused(kind: str, tmp_path: Path) -> None:
    need(kind)
    said = PLAN.format(kind=kind, said='settings = { appendfsync = "always" }')
    with pytest.raises(PlanError, match="has no effect without appendonly"):
        resolve(said, tmp_path)


@pytest.mark.parametrize(
    ("kind", "version", "settings"),
    [
        ("mariadb", None, {"loose_what_is_this": "1", "skip_innodb_doublewrite": "1"}),
        ("mariadb", None, {"Innodb-Flush-Neighbors": "1", "hot.key_buffer_size": "8M"}),
        ("mariadb", None, {"plugin_load_add": "ha_rocksdb", "rocksdb_block_cache_size": "8M"}),
        ("mariadb", "10.2", {"innodb_flush_neighbors": "1", "wsrep_slave_threads": "2"}),
        ("mariadb", "10.1", {"innodb_io_capacity": "300"}),
        ("mysql", None, {"loose_what_is_this": "1", "skip_log_bin": "1", "innodb_io_capacity": "300"}),
        ("mysql", "5.5", {"innodb_io_capacity": "300"}),
        ("redis", None, {"appendonly": "yes", "appendfsync": "everysec", "save": "", "maxmemory": "1gb"}),
        ("redis", None, {"activedefrag": "no"}),
        ("postgresql", None, {"mine.own": "1", "Work_Mem": "8MB", "sort_mem": "8MB", "trace_sort": "on"}),
    ],
)
def test_what_the_server_takes_is_not_refused(kind: str, version: str | None, settings: dict[str, str]) -> None:
    need(kind, version)
    assert SYSTEMS[kind].available({"start": {"version": version, "settings": settings}}) is None
