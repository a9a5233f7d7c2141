"""Arguments that several commands have, and reading what was said there."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ..bundle import RESULTS
from ..errors import PlanError

if TYPE_CHECKING:
    from ..analysis.metric import Metric
    from ..bundle.read import Bundle

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_command(
    commands: Commands, name: str, run: Callable[[argparse.Namespace], int], **words: Any
) -> argparse.ArgumentParser:
    """words: its help, description and epilog, whose lines stay as they are."""
    parser = commands.add_parser(name, formatter_class=argparse.RawDescriptionHelpFormatter, **words)
    parser.set_defaults(run=run)
    return parser


def add_results(parser: argparse.ArgumentParser, *, default: object = RESULTS) -> None:
    """--results of commands that also read a bucket, by `results_folder`."""
    parser.add_argument(
        "--results",
        type=lambda words: words if "://" in words else Path(words),
        default=default,
        metavar="DIR",
        help=f"the folder of the bundles, or a bucket's address: s3://bucket/prefix (default: {RESULTS})",
    )


@contextmanager
def results_folder(results: Path | str) -> Iterator[Path]:
    """The folder of --results; of a bucket its mirror on this machine, which has what the bucket has now, and keeps it
    until the block ends: others wait for that, so print what is long after it."""
    if isinstance(results, Path):
        yield results
        return
    from ..bundle.bucket import Bucket
    from ..provision.cache import cache_dir
    from .output import say

    bucket = Bucket(results)
    with bucket.mirrored(cache_dir() / "buckets" / bucket.key()) as found:
        for words in found.left_out:
            say(f"warning: {words}")
        yield found.folder


def add_metric(parser: argparse.ArgumentParser, words: str) -> None:
    parser.add_argument("--metric", action="append", default=[], metavar="NAME", help=words)


def named(names: Sequence[str], where: str, bundles: Sequence[Bundle]) -> list[Metric]:
    """Each metric once; PlanError for one that does not exist, or that no bundle has a value of. where: the option or
    plan that names them."""
    from ..analysis.percentiles import same_operation
    from ..analysis.registry import UnknownMetric, is_watched, metric
    from ..model.prices import COST
    from ..suggestions import meant

    rates = [rate for bundle in bundles for rate in bundle.plan.rates]
    found = []
    for name in dict.fromkeys(names):
        try:
            found.append(metric(name, rates))
        except UnknownMetric as error:
            raise PlanError(str(error), where=where, hint=error.hint) from error
        if name == COST and not any(cell.prices for bundle in bundles for cell in bundle.plan.cells):
            hint = "run a plan with [prices]: docs/howto/cost.md"
            raise PlanError("these bundles have no prices", where=f"{where} {name}", hint=hint)
        if part := found[-1].part:
            known = sorted({known for bundle in bundles for known in _parts(bundle, name)})
            if part not in known and (is_watched(name) or not any(same_operation(part, each) for each in known)):
                raise PlanError(f"no run of the bundle has `{part}`", where=f"{where} {name}", hint=meant(part, known))
    return found


def _parts(bundle: Bundle, name: str) -> list[str]:
    """The parts that a name can have: operations, or columns of server and machine metrics."""
    from ..analysis.registry import is_watched

    if not is_watched(name):
        return [series.operation for run in bundle.runs for series in run.series]
    names: list[str] = []

    def note(of_table: list[str]) -> list[str]:
        names.extend(of_table)
        return []

    for run in bundle.runs:
        bundle.server(run.id, note)
    return names


def add_running(p: argparse.ArgumentParser) -> None:
    """The options of commands that run a plan."""
    p.add_argument(
        "--dry-run", action="store_true", help="print cells, repetitions, estimated time and disk; start nothing"
    )
    where = p.add_mutually_exclusive_group()
    where.add_argument(
        "--out", type=Path, metavar="BUNDLE", help="write the bundle into this folder, which must be new or empty"
    )
    where.add_argument(
        "--results",
        type=Path,
        metavar="DIR",
        help=f"create the bundle's folder in this one (default: {RESULTS})",
    )
    add_fleet(p)
    add_measuring(p)
    p.add_argument(
        "--allow-disturbed",
        action="store_true",
        help="count disturbed runs and repeat none; every figure is marked as disturbed",
    )
    p.add_argument("--no-report", action="store_true", help="write no report.html")
    p.add_argument(
        "--otlp",
        metavar="URL",
        help="send what goes on to an OpenTelemetry collector by HTTP: http://localhost:4318"
        " (default: $OTEL_EXPORTER_OTLP_ENDPOINT, if set)",
    )
    output = p.add_mutually_exclusive_group()
    add_json(output)
    output.add_argument("--events", action="store_true", help="print events as JSON lines on stdout, for programs")


def add_measuring(p: argparse.ArgumentParser) -> None:
    """Of each command that makes runs."""
    p.add_argument(
        "--work-dir", type=Path, metavar="DIR", help="folder for managed servers and their data while they run"
    )
    add_beside(p)
    add_allow_cost(p)
    p.add_argument(
        "--wait-until-quiet",
        nargs="?",
        const="",
        type=not_a_plan,
        metavar="DURATION",
        help="wait until other processes are idle, before the first run and before each repeat of a disturbed run;"
        " with a DURATION (10m) at most that long each time, then continue",
    )
    p.add_argument("--quiet", action="store_true", help="show no progress")


def add_allow_cost(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow-cost", action="store_true", help="pay for the requests of a plan to a public service that charges"
    )


def add_fleet(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fleet",
        action="append",
        default=[],
        dest="said",
        type=_fleet_key,
        metavar="MACHINES",
        help="run the clients on these machines instead of the plan's [fleet]: tls://SCHEDULER:8786,"
        " ssh=load1,load2, or"
        " local=4 (workers on this machine)",
    )


def not_a_plan(words: str) -> str:
    """For an option whose value is optional, and which would take the plan's name as its value."""
    if words.endswith(".toml"):
        raise argparse.ArgumentTypeError(f"{words} is a plan: write the plan before this option")
    return words


def _fleet_key(words: str) -> str:
    from ..plan.document.fleet import said_as_key

    return said_as_key(words)


def add_plan(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", type=Path, help="the plan, a TOML file")
    add_set(parser)


def add_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="said",
        metavar="KEY=VALUE",
        help="override a value of the plan: measure.window=5s; may be repeated",
    )


def add_beside(parser: argparse.ArgumentParser) -> None:
    """What to do while another bakeoff run measures on the same cores."""
    beside = parser.add_mutually_exclusive_group()
    beside.set_defaults(beside="refuse")
    beside.add_argument(
        "--wait",
        action="store_const",
        const="wait",
        dest="beside",
        help="wait while another bakeoff run measures on the same cores (default: refuse)",
    )
    beside.add_argument(
        "--together",
        action="store_const",
        const="together",
        dest="beside",
        help="run alongside another bakeoff run on the same cores; runs that it disturbs do not count",
    )


def add_json(parser: argparse._ActionsContainer, *, of_verb: bool = False) -> None:
    """of_verb: the parser is that of a command's verb; the option may also be given before the verb."""
    parser.add_argument(
        "--json",
        action="store_true",
        default=argparse.SUPPRESS if of_verb else False,
        help="print one JSON document and nothing else on stdout",
    )
