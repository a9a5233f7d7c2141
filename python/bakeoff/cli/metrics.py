"""Names of metrics on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import PlanError

if TYPE_CHECKING:
    from ..analysis.metric import Metric
    from ..bundle.read import Bundle


def add_metric(parser: argparse.ArgumentParser, words: str) -> None:
    parser.add_argument("--metric", action="append", default=[], metavar="NAME", help=words)


def named(names: Sequence[str], where: str, bundles: Sequence[Bundle]) -> list[Metric]:
    """Each once; PlanError for one that does not exist, or of which none of the bundles could say anything. where: they
    are said, an option or a plan."""
    from ..analysis.registry import UnknownMetric, is_watched, metric
    from ..analysis.response import same_operation
    from ..suggestions import meant

    rates = [rate for bundle in bundles for rate in bundle.plan.rates]
    found = []
    for name in dict.fromkeys(names):
        try:
            found.append(metric(name, rates))
        except UnknownMetric as error:
            raise PlanError(str(error), where=where, hint=error.hint) from error
        if part := found[-1].part:
            known = sorted({known for bundle in bundles for known in _parts(bundle, name)})
            if part not in known and (is_watched(name) or not any(same_operation(part, each) for each in known)):
                raise PlanError(
                    f"no run of the bundle knows `{part}`", where=f"{where} {name}", hint=meant(part, known)
                )
    return found


def _parts(bundle: Bundle, name: str) -> list[str]:
    """What parts a name can have here: operations, or columns of what was watched."""
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
