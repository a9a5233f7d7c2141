"""The command: which rows, which clients, and where the results go."""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bakeoff.errors import BakeoffError
from bakeoff.fleet.engine_program import engine_path
from bakeoff.machine import fitness, machine_facts

from . import special
from .bench import Bench, Options
from .client import Client
from .ours import WAYS, Engine
from .peers.pgbench import Pgbench
from .peers.redis_benchmark import RedisBenchmark
from .peers.sysbench import Sysbench
from .rows import PLACEMENTS, SPECIAL, SYSTEMS, WORKS, Row, choose
from .server import Server
from .servers import SERVERS
from .table import Results

EXAMPLES = """
examples:
  python -m benches.suite                                            all rows, about two hours
  python -m benches.suite --system postgresql --pairs 5 --window 2   one system
  python -m benches.suite --rows point_select --sessions 64 --placement shared
  python -m benches.suite --rows point_select --sessions 64 --io io_uring --ours-only --pairs 1 --window 3
  python -m benches.suite --rows point_select --engine OLD NEW       two states of the engine against each other

CPU is user + system time over the window, per operation. It needs MariaDB, PostgreSQL, sysbench and pgbench, each on
the PATH or fetched into the cache.
"""
PREPARE_ROWS = 250_000
PEERS: dict[str, Sequence[Callable[[Server, Path, Callable[[str], None]], Client]]] = {
    "mariadb": (Sysbench,),
    "postgresql": (Sysbench, Pgbench),
    "redis": (RedisBenchmark,),
}


def arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser(
        prog="python -m benches.suite",
        description="bakeoff and its peers on one managed server, in shuffled rounds: ratios with intervals.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    known = [*WORKS, *SPECIAL]
    p.add_argument("--rows", nargs="+", choices=known, default=known, metavar="ROW", help=f"of: {', '.join(known)}")
    p.add_argument("--system", choices=SYSTEMS, nargs="+", default=SYSTEMS, help="on these (default all)")
    p.add_argument(
        "--placement",
        choices=PLACEMENTS,
        nargs="+",
        default=PLACEMENTS,
        help="client and server on shared cores, or a core each (default both)",
    )
    p.add_argument("--sessions", type=int, nargs="+", default=[], help="instead of each row's own")
    p.add_argument("--transport", choices=["tcp", "socket"], nargs="+", default=[], help="instead of each row's own")
    p.add_argument("--io", choices=list(WAYS), nargs="+", default=["auto", "epoll"], help="ways of the engine")
    p.add_argument("--pairs", type=int, default=7, metavar="N", help="rounds; an interval needs 6 (default 7)")
    p.add_argument("--window", type=int, default=8, metavar="S", help="whole seconds (default 8)")
    p.add_argument("--warm-up", type=int, default=1, metavar="S", help="whole seconds, at least 1 (default 1)")
    p.add_argument("--table-size", type=int, default=100_000, metavar="N", help="rows (default 100,000)")
    p.add_argument("--distribution", choices=["uniform", "special"], default="uniform", help="of ids, on both sides")
    p.add_argument("--seed", type=int, default=1, help="of the order of rounds")
    p.add_argument("--quick", action="store_true", help="a smoke test: 1 round of 2 s, each script once, small prepare")
    p.add_argument("--ours-only", action="store_true", help="without peers")
    p.add_argument("--engine", type=Path, nargs="+", metavar="PATH", help="one, or two to compare, without peers")
    p.add_argument("--out", type=Path, metavar="FILE.json", help="the results; FILE.md is written next to it")
    chosen = p.parse_args()
    if chosen.warm_up < 1 or chosen.pairs < 1 or chosen.window < 1:
        p.error("--warm-up, --window and --pairs are at least 1")
    if chosen.engine and len(chosen.engine) > 2:
        p.error("--engine takes one path, or two")
    if min([1, *chosen.sessions]) < 1 or chosen.table_size < 1:
        p.error("--sessions and --table-size are at least 1")
    if not choose(chosen.rows, (), (), chosen.system, chosen.placement) and not specials_of(chosen, chosen.system):
        p.error("there are no such rows: --rows, --system and --placement exclude each other")
    if trouble := unwritable(chosen.out):
        p.error(f"--out {chosen.out}: {trouble}")
    if chosen.quick:
        _make_quick(chosen)
    return chosen


def unwritable(out: Path | None) -> str:
    """Why results cannot be written there, asked before hours are measured; empty if they can."""
    if out is None:
        return ""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return error.strerror or str(error)
    if out.is_dir():
        return "is a folder"
    return "" if os.access(out if out.exists() else out.parent, os.W_OK) else "cannot be written"


def _make_quick(chosen: argparse.Namespace) -> None:
    chosen.pairs, chosen.window = 1, 2
    chosen.sessions = chosen.sessions or [8]
    chosen.transport = chosen.transport or ["tcp"]
    if len(chosen.rows) == len(WORKS) + len(SPECIAL):
        chosen.rows = [*WORKS, "prepare", "syscalls"]


def in_words(error: BakeoffError) -> str:
    return f"{error}" + (f"\n  hint: {error.hint}" if error.hint else "")


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def specials_of(chosen: argparse.Namespace, systems: Sequence[str]) -> list[str]:
    """They share the cores, or ask for none."""
    if "shared" not in chosen.placement:
        return []
    return [name for name, asked in SPECIAL.items() if name in chosen.rows and set(asked) & set(systems)]


def main() -> int:
    chosen = arguments()
    _raise_open_files()
    options = Options(chosen.pairs, chosen.window, chosen.warm_up, chosen.table_size, chosen.distribution, chosen.seed)
    results = Results(datetime.now(UTC).date().isoformat(), machine(), [revision()], asdict(options))
    try:
        for system in chosen.system:
            if not rows_of(chosen, system) and not specials_of(chosen, [system]):
                continue
            try:
                with tempfile.TemporaryDirectory() as folder, SERVERS[system].started(say) as server:
                    run(chosen, options, server, Path(folder), results)
            except BakeoffError as error:  # one system that fails shall not cost the others
                failed(results, system, error)
    except KeyboardInterrupt:
        say("interrupted: what is done follows")
    print(results.as_markdown())
    return 1 if results.failures else 0


def run(chosen: argparse.Namespace, options: Options, server: Server, folder: Path, results: Results) -> None:
    """All that is asked of one server; into the results, and into their file after each step."""
    clients, against = competitors(chosen, server, folder)
    bench = Bench(server, clients, against, options, say)
    named = [f"{server.product} {server.version()}", *(client.version() for client in clients)]
    results.versions = list(dict.fromkeys([*results.versions, *named]))
    before = list(results.rows)
    for name, measure in steps(chosen, bench):
        try:
            results.figures += measure()
        except BakeoffError as error:
            failed(results, name, error)
        finally:
            results.rows = [*before, *bench.results()]
        if chosen.out:
            results.save(chosen.out)


def failed(results: Results, what: str, error: BakeoffError) -> None:
    results.failures.append(f"{what}: {in_words(error)}")
    say(f"error: {results.failures[-1]}")


def rows_of(chosen: argparse.Namespace, system: str) -> list[Row]:
    return choose(chosen.rows, chosen.sessions, chosen.transport, [system], chosen.placement)


def steps(chosen: argparse.Namespace, bench: Bench) -> list[tuple[str, Callable[[], list[special.Figure]]]]:
    def row_step(row: Row) -> Callable[[], list[special.Figure]]:
        def measure() -> list[special.Figure]:
            bench.result(row)
            return []

        return measure

    system = bench.server.kind
    found = [(str(row), row_step(row)) for row in rows_of(chosen, system)]
    prepare_rows = 10_000 if chosen.quick else PREPARE_ROWS
    specials: dict[str, Callable[[], list[special.Figure]]] = {
        "prepare": lambda: special.prepare(bench, prepare_rows),
        "sessions": lambda: special.sessions(bench),
        "syscalls": lambda: special.syscalls(bench),
        "floor": lambda: special.floor(say),
    }
    return [*found, *((f"{system}, {name}", specials[name]) for name in specials_of(chosen, [system]))]


def competitors(chosen: argparse.Namespace, server: Server, folder: Path) -> tuple[list[Client], list[tuple[str, str]]]:
    """All clients, and who is compared with whom. Peers first, because the first makes the tables."""
    ways = {io: WAYS[io] for io in chosen.io}
    paths: list[Path] = [path.absolute() for path in chosen.engine or [engine_path()]]
    if len(paths) == 2:
        named = dict(zip(("before", "after"), paths, strict=True))
        engines = [
            Engine(f"{when}:{io}", path, way, server, folder)
            for when, path in named.items()
            for io, way in ways.items()
        ]
        return [*engines], [(f"after:{io}", f"before:{io}") for io in ways]
    ours = [Engine(io, paths[0], way, server, folder) for io, way in ways.items()]
    if chosen.ours_only:
        return [*ours], []
    peers: list[Client] = [peer(server, folder, say) for peer in PEERS[server.kind]]
    return [*peers, *ours], [(io, peer.name) for io in ways for peer in peers]


def machine() -> dict[str, Any]:
    """Facts, without the machine's name; and what makes it less than fit for measuring just now."""
    facts = machine_facts(Path.cwd()).model_dump()
    del facts["hostname"]
    facts["warnings"] = [finding.words for finding in fitness(Path.cwd()) if finding.state == "warning"]
    return facts


def revision() -> str:
    """Of the sources."""
    argv = ["git", "describe", "--always", "--dirty"]
    try:
        found = subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        found = ""
    return f"revision {found or 'unknown'}"


def _raise_open_files() -> None:
    """Thousands of sessions; what we start inherits it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    sys.exit(main())
