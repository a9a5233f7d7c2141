"""Tables of which nothing is promised, and systems of which nothing can be verified."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from bakeoff.errors import PlanError
from bakeoff.plan.verify import promised, refuse_level_of_session, refuse_outsiders


def cell(**options: Any) -> Any:
    return SimpleNamespace(system_options=options, record=SimpleNamespace(system="db"))


def facts(**settings: str) -> Any:
    return SimpleNamespace(product="MariaDB", version="10.11.19", settings=settings)


def test_innodbs_promises_are_not_those_of_another_engine() -> None:
    assert promised(cell(), facts(), {}, "serializable") == ()
    assert promised(cell(table_format="page-compressed"), facts(), {}, "serializable") == ()
    assert promised(cell(table_format="rocksdb"), facts(), {}, "serializable") is None
    assert promised(cell(), facts(default_storage_engine="Aria"), {}, "serializable") is None


@pytest.mark.parametrize("name", ["transaction_isolation", "TX_ISOLATION", "default_transaction_isolation"])
def test_a_session_variable_that_sets_the_level_is_refused(name: str) -> None:
    with pytest.raises(PlanError, match="replaces the one that is verified") as refused:
        refuse_level_of_session(cell(session={"sort_buffer_size": "1M", name: "READ-COMMITTED"}))
    assert refused.value.where == f"systems.db.session.{name}"
    refuse_level_of_session(cell(session={"sort_buffer_size": "1M"}))


class Cluster:
    name = "ours"
    managed = False
    multi_writer = True

    def __init__(self, **members: str) -> None:
        self._members = members

    def nodes(self) -> list[Any]:
        def node(name: str, on: str) -> Any:
            return SimpleNamespace(name=name, facts=lambda: SimpleNamespace(settings={"wsrep_on": on} if on else {}))

        return [node(name, on) for name, on in self._members.items()]


def test_a_server_that_only_follows_a_cluster_is_not_written_to() -> None:
    refuse_outsiders(cast(Any, Cluster(db1="ON", db2="ON")))
    for off in ("OFF", ""):
        with pytest.raises(PlanError, match="db3 is no member of the cluster ours"):
            refuse_outsiders(cast(Any, Cluster(db1="ON", db3=off)))
