"""Arrows between files run one way: a file is read without the files that use it."""

import ast
import importlib.util
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import bakeoff

from tests.systems.forked import IMPORTED

ROOT = Path(bakeoff.__file__).parent
#: From the ground up: each may import those before it. Modules next to the packages (errors, locks, ...) are in none.
LAYERS = (
    *("model", "analysis", "verify", "bundle", "findings", "provision", "fleet", "systems", "workloads", "plan"),
    *("schedule", "report", "notebook", "claims", "serve", "cli"),
)
#: `bakeoff.bundle.open_bundle` is the public name of the door for notebooks, which `notebook` is.
DOORS = {("bakeoff.bundle", "bakeoff.notebook")}


def modules() -> dict[str, Path]:
    paths = {path: (ROOT.name, *path.relative_to(ROOT).with_suffix("").parts) for path in ROOT.rglob("*.py")}
    return {".".join(parts).removesuffix(".__init__"): path for path, parts in paths.items()}


def imported(module: str, path: Path, known: dict[str, Path]) -> Iterator[str]:
    """Wherever it is in the file: an import inside a function or for types alone is an arrow, too."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (name if (name := f"{base}.{alias.name}") in known else base for alias in node.names)


def test_no_files_import_each_other_in_a_circle() -> None:
    known = modules()
    assert len(known) > 100
    graph = {module: {m for m in imported(module, path, known) if m in known} for module, path in known.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(" -> ".join(reversed(error.args[1]))) from None


def test_no_layer_imports_one_above_it() -> None:
    """Plans and schedules use findings; the report, which makes sentences of these, is for front ends alone."""
    known = modules()
    for module, path in known.items():
        own = layer(module)
        for other in imported(module, path, known):
            above = layer(other)
            if own is not None and above is not None and (module, other) not in DOORS:
                assert above <= own, f"{module} imports {other}"
                assert LAYERS[above] != "report" or LAYERS[own] in ("report", "notebook", "claims", "serve", "cli")


def layer(module: str) -> int | None:
    _, _, rest = module.partition(".")
    name = rest.partition(".")[0]
    return LAYERS.index(name) if name in LAYERS else None


def test_every_package_is_in_a_layer() -> None:
    assert {path.parent.name for path in ROOT.glob("*/__init__.py")} <= set(LAYERS)


def test_a_kind_of_system_needs_no_other_kind() -> None:
    """What servers share lies in `systems/server`, which in turn knows no product."""
    known, rooms = modules(), "bakeoff.systems."
    kinds = {path.parent.name for path in (ROOT / "systems").glob("*/__init__.py")}
    assert kinds == {
        "avatica",
        "cassandra",
        "couchdb",
        "duckdb",
        "dynamodb",
        "mongodb",
        "mysql",
        "postgresql",
        "redis",
        "riak",
        "server",
        "simpledb",
    }
    for module, path in known.items():
        parts = module.removeprefix(rooms).split(".")
        if module.startswith(rooms) and parts[0] in kinds:
            used = {m.removeprefix(rooms).split(".")[0] for m in imported(module, path, known) if m.startswith(rooms)}
            assert used & kinds <= {parts[0], "server"}, module


def test_what_tests_of_commands_import_before_they_fork_exists() -> None:
    assert [name for name in IMPORTED if importlib.util.find_spec(name) is None] == []
