"""Systems of several nodes, and which of them the users of a run go to."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.model.boundary import NameRoute, RoleRoute
from bakeoff.plan.document.units import UnitError
from bakeoff.plan.dry_run.describe import describe
from bakeoff.plan.factors import Routing
from builders.plans import MARIADB, SQLITE, read, refused

NODES = """
[systems.pair]
kind = "mysql"
user = "bench"
nodes = [
  { name = "a", address = "127.0.0.1:1" },
  { name = "b", role = "replica", address = "127.0.0.1:2" },
]
"""


def test_a_route_is_any_node_a_role_a_name_or_split() -> None:
    assert Routing.parse("any").document() == "any"
    assert Routing.parse("split").document() == "split"
    assert Routing.parse("role:standby").document() == RoleRoute(role="standby")
    assert Routing.parse("name:db:1").document() == NameRoute(name="db:1")
    for route in ("any", "split", "role:replica", "name:a"):
        assert str(Routing.parse(route)) == route
    for wrong in ("role:", "role", "any:", "split:a", "", ":a", 3, True):
        with pytest.raises(UnitError):
            Routing.parse(wrong)


def test_a_word_alone_is_a_role_that_is_usual_or_the_name_of_a_node() -> None:
    for role in ("writer", "reader", "primary", "replica"):
        assert Routing.parse(role) == Routing.parse(f"role:{role}")
    for name in ("n1", "replica2", "db:3306"):
        assert Routing.parse(name) == Routing.parse(f"name:{name}")


def test_routing_is_a_factor_and_makes_cells_of_their_own() -> None:
    plan = read("routing = ['any', 'replica', 'split']", systems=NODES)
    assert [str(cell.routing) for cell in plan.cells] == ["any", "role:replica", "split"]
    assert len({cell.record.id for cell in plan.cells}) == 3
    assert len({cell.load_key for cell in plan.cells}) == 1
    (fixed,) = read(systems=NODES, measure="routing = 'name:b'").cells
    assert str(fixed.routing) == "name:b"


@pytest.mark.parametrize(
    ("routing", "what", "hint"),
    [
        ("role:replicas", "pair has no node on the route role:replicas", "did you mean `replica`?"),
        ("name:replica", "pair has no node on the route name:replica", "one of: a, b, primary, replica, split"),
        ("replicas", "pair has no node on the route name:replicas", "did you mean `replica`?"),
        ("Split", "pair has no node on the route name:Split", "did you mean `split`?"),
        ("role:", "'role:' is not a route", 'a role ("replica"'),
    ],
)
def test_a_route_that_no_node_is_on_is_refused(routing: str, what: str, hint: str) -> None:
    error = refused(f"routing = ['{routing}']", systems=NODES)
    assert what in error.what
    assert hint in error.hint


def test_reads_and_writes_are_not_split_where_all_nodes_are_alike() -> None:
    for systems in (MARIADB, NODES.replace('role = "replica", ', "")):
        error = refused("routing = ['split']", systems=systems, must_run=False)
        assert "all its nodes have the same role" in error.hint
    assert "runs inside the client" in refused("routing = ['split']", systems='[systems.s]\nkind = "sqlite"\n').hint


REPLICATED = "[systems.mariadb]\nreplicas = 2"
WRITES = "preset = 'a'"


@pytest.mark.parametrize("systems", [REPLICATED, NODES], ids=["managed", "existing"])
def test_a_plan_without_a_route_means_the_primary_where_others_follow_it(systems: str) -> None:
    unsaid, said = (
        read(factors, systems=systems, workload=WRITES, measure="reset = 'none'", must_run=False).cells[0]
        for factors in ("", "routing = ['primary']")
    )
    assert str(unsaid.routing) == "role:primary"
    assert unsaid.routing.document() == RoleRoute(role="primary")
    assert unsaid.record.id == said.record.id


def test_without_followers_a_plan_without_a_route_means_all_nodes() -> None:
    alike = NODES.replace('role = "replica", ', "")
    for systems in (alike, "[systems.galera]\nstart = { nodes = 3 }", MARIADB):
        (cell,) = read(systems=systems, must_run=False).cells
        assert cell.routing == Routing("any")


@pytest.mark.parametrize("route", ["any", "replica", "replica2"])
def test_work_that_writes_is_refused_on_a_route_to_a_replica(route: str) -> None:
    error = refused(f"routing = ['primary', '{route}']", systems=REPLICATED, workload=WRITES, must_run=False)
    assert "writes, and replica" in error.what
    assert "of mariadb takes no writes" in error.what
    assert 'routing = "split"' in error.hint
    assert "[factors] routing" in error.where
    assert (
        "[measure] routing"
        in refused(systems=REPLICATED, workload=WRITES, measure=f"routing = '{route}'", must_run=False).where
    )
    (_, reads) = read(f"routing = ['primary', '{route}']", systems=REPLICATED, must_run=False).cells
    assert reads.routing == Routing.parse(route)


def test_work_that_writes_goes_to_the_primary_by_split_and_to_all_nodes_that_take_writes() -> None:
    for systems in (REPLICATED, "[systems.galera]\nstart = { nodes = 3 }"):
        (split,) = read("routing = ['split']", systems=systems, workload=WRITES, must_run=False).cells
        assert split.routing == Routing("split")
    (reader,) = read("routing = ['any']", systems="[systems.galera]", workload=WRITES, must_run=False).cells
    assert reader.routing == Routing("any")


def test_a_dry_run_names_nodes_and_routes(tmp_path: Path) -> None:
    found = read(systems=f"{REPLICATED}\n{SQLITE}", must_run=False)
    assert describe(found, tmp_path).routes == {"mariadb": 'primary, replica1, replica2; routing "role:primary"'}


@pytest.mark.parametrize(
    ("systems", "what"),
    [
        (NODES + 'address = "127.0.0.1:1"', "`nodes` are addresses of existing servers"),
        (f"{MARIADB}\nnodes = [{{ name = 'a', address = 'db:1' }}]", "`nodes` are addresses of existing servers"),
        (NODES.replace('"b"', '"a"'), "two nodes have the same name"),
        (NODES.replace('"127.0.0.1:2"', '"root:pw@db:2"'), "an address must contain no user and no password"),
        (NODES.replace('"b", role', '"b", rôle'.replace("ô", "u")), "rule"),
        (NODES.replace('name = "b", ', ""), "`name` is missing"),
        (NODES.replace(', address = "127.0.0.1:2"', ""), "`address` is missing"),
        (NODES.replace('address = "127.0.0.1:1"', 'adress = "127.0.0.1:1"'), "unknown key `adress`"),
        ("[systems.galera]\nnodes = '3'", "`nodes`: it is the number of nodes to start"),
        ("[systems.galera]\nnodes = 2.5", "`nodes`: it is the number of nodes to start"),
        ("[systems.galera]\nstart = { nodes = '3' }", "`nodes` must be a whole number"),
        ("[systems.mariadb]\nreplicas = true", "`replicas` must be a whole number, not true"),
        ("[systems.mariadb]\nreplicas = 1\nsemi_sync = 'yes'", "`semi_sync` must be true or false"),
        ("[systems.postgresql]\nreplicas = 1\nsynchronous = 1", "`synchronous` must be true or false"),
    ],
)
def test_nodes_are_named_addresses(systems: str, what: str) -> None:
    error = refused(systems=systems)
    assert what in error.what
    assert "root:pw" not in error.what


def test_a_cell_knows_the_names_of_several_nodes() -> None:
    (pair,) = read(systems=NODES).cells
    assert pair.record.nodes == ["a", "b"]
    (single,) = read().cells
    assert single.record.nodes == []
