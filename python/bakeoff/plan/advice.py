"""What a plan may ask and will limit its answer."""

from __future__ import annotations

from collections.abc import Mapping

from ..findings.contestants import Contest
from ..model.records import PlanRecord
from .comparison import has_other_data
from .document import PlanDocument
from .resolved import Cell

REPETITIONS_FOR_A_COMPARISON = 5


def advice(document: PlanDocument, cells: list[Cell], private: Mapping[str, bool], record: PlanRecord) -> list[str]:
    """What is allowed but will limit the answer."""
    measure, words = document.measure, []
    if measure.repetitions < REPETITIONS_FOR_A_COMPARISON and document.search is None:
        have = "1 repetition is" if measure.repetitions == 1 else f"{measure.repetitions} repetitions are"
        words.append(f"{have} too few to compare: values only (5 or more give a comparison)")
    paced = any(cell.record.rate_ops_per_s is not None for cell in cells)
    if measure.objective == "rate" and paced and document.search is None:
        words.append('in an open loop the achieved rate is what was offered; judge by objective = "latency_p99"')
    if any(cell.record.faults and cell.record.rate_ops_per_s is None for cell in cells):
        words.append(
            "faults in a closed loop: users who wait ask nothing, so percentiles hide what the fault does to response"
            " times; offer a `rate`, such as half of what the system does without faults"
        )
    if has_other_data(cells, record.compare_factor) and not Contest(record).is_sweep:
        words.append(f"the levels of `{record.compare_factor}` have different data, which are never compared")
    again = dict.fromkeys(cell.record.system for cell in cells if cell.reset == "reload")
    if names := ", ".join(name for name in again if not private[name]):
        words.append(
            f"before each run the workload's tables on {names} are dropped and loaded again, if bakeoff made them"
        )
    found, loaded = ({cell.record.system for cell in cells if cell.data == data} for data in ("existing", "load"))
    if found and loaded and measure.cache is None:
        words.append(
            f"no cache is warmed, on {', '.join(sorted(loaded))} neither, because the data on"
            f" {', '.join(sorted(found))} exist already; write `cache` to choose"
        )
    for clients in sorted({cell.clients for cell in cells}):
        if measure.operations is not None and measure.operations % clients:
            words.append(
                f"{measure.operations} operations do not divide by {clients} clients; "
                f"{measure.operations // clients * clients} are done"
            )
    for workload in {id(cell.workload): cell.workload for cell in cells}.values():
        words += workload.advice
    return list(dict.fromkeys(words))
