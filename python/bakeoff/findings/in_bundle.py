"""All findings of one bundle together: what `report` tells, and in which order it is found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..analysis.compare import ComparisonAnswer
from ..analysis.metric import Metric
from ..bundle.read import Bundle
from ..model.records.run import RunRecord
from .cells import CellAnswer, cell_answers
from .clients_and_nodes import ClientAnswer, NodeAnswer, client_answers, node_answers
from .comparisons import Compared, compare_all
from .configuration import Difference, configuration_of
from .contestants import Contest
from .differing_figures import CellsDiffer, Differs
from .faults import FaultAnswer, fault_answers
from .limits_and_searches.contradictions import Contradiction, contradictions
from .limits_and_searches.limits import LimitFinding, limit_findings
from .limits_and_searches.searches import SearchAnswer, search_answer
from .limits_and_searches.thresholds import ThresholdAnswer, thresholds
from .promises import PromiseAnswer, promise_answers
from .runs import Doubt, doubts_about, runs_by_cell
from .shapes import ShapeAnswer, shape_answers
from .stages import StageAnswer, stage_answers


@dataclass(frozen=True)
class Findings:
    """runs: by cell, those that count or are shown where none does. differs: what else does, of any two cells.
    between_levels: along the axis of a sweep. held: how each contestant stood to the plan's limits. promises: what the
    systems keep of them, where the plan asks for checks. doubts: what speaks against the runs, the worst kind first.
    undeclared: differences of configuration that the plan does not declare."""

    contest: Contest
    bundle: Bundle
    runs: Mapping[str, Sequence[RunRecord]]
    cells: list[CellAnswer]
    compared: Compared
    shapes: list[ShapeAnswer]
    differs: Differs
    between_levels: list[CellsDiffer]
    held: list[LimitFinding]
    search: SearchAnswer | None
    thresholds: list[ThresholdAnswer]
    contradictions: list[Contradiction]
    faults: list[FaultAnswer]
    stages: list[StageAnswer]
    nodes: list[NodeAnswer]
    clients: list[ClientAnswer]
    promises: list[PromiseAnswer]
    doubts: list[Doubt]
    undeclared: list[Difference]

    @property
    def too_busy(self) -> list[CellAnswer]:
        """Cells that disturbance left too few runs. A search that found its place needs none of those that it left
        out."""
        if self.search is not None and all(one.is_found for one in self.search.found):
            return []
        return [cell for cell in self.cells if cell.too_few_undisturbed]

    @property
    def comparisons(self) -> list[ComparisonAnswer]:
        return self.compared.by_setting


def findings_in(
    bundle: Bundle,
    metrics: Sequence[Metric],
    comparisons: Sequence[ComparisonAnswer] | None = None,
    *,
    can_record: bool = True,
) -> Findings:
    """metrics: to be shown of every cell. comparisons: in place of those by block. can_record: whether the analysis can
    be written into the bundle; where it cannot, nothing new is claimed."""
    contest = Contest(bundle.plan)
    runs = runs_by_cell(bundle.runs)
    search = search_answer(contest, bundle)
    # The levels of a search were chosen to find one place: they are no sweep, and no pairs.
    given = [] if search is not None else comparisons
    compared = compare_all(contest, bundle, runs, can_record=can_record) if given is None else Compared(list(given))
    held = limit_findings(contest, bundle, runs, compared.alpha)
    judged = thresholds(contest, bundle, runs, search, compared)
    differs = Differs(contest, bundle, runs)
    return Findings(
        contest=contest,
        bundle=bundle,
        runs=runs,
        cells=cell_answers(contest, bundle, runs, metrics),
        compared=compared,
        shapes=shape_answers(contest, bundle, runs, compared.alpha) if given is None else [],
        differs=differs,
        between_levels=differs.between_levels() if search is None else [],
        held=held,
        search=search,
        thresholds=judged,
        contradictions=contradictions(contest, search, held, judged),
        faults=fault_answers(contest, runs),
        stages=stage_answers(contest, runs),
        nodes=node_answers(contest, runs),
        clients=client_answers(contest, runs),
        promises=promise_answers(bundle),
        doubts=doubts_about(bundle.runs),
        undeclared=configuration_of(bundle).undeclared,
    )
