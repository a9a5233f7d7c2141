"""Which keys a run inserts where nothing is put back."""

from __future__ import annotations

import pytest
from bakeoff.schedule.run_order import InsertTurns
from builders.plans import MARIADB, OLD, SQLITE, read

pytestmark = pytest.mark.usefixtures("mariadb_is_here")
WORK = {"workload": "preset = 'd'", "measure": "reset = 'none'\nrepetitions = 3"}


def by_cell(factors: str, systems: str) -> dict[str, list[int]]:
    """The turns of each cell in blocks 1 to 3."""
    cells = read(factors, systems=systems, **WORK).cells
    turns = InsertTurns.of(cells)
    return {cell.record.label: [turns.turn(cell.record.id, block) for block in (1, 2, 3)] for cell in cells}


def test_cells_that_are_compared_have_the_same_turn_also_where_a_factor_is_of_one_system() -> None:
    found = by_cell("threads = [1, 4]\n'mariadb.settings.innodb_io_capacity' = [100, 200]", f"{SQLITE}\n{MARIADB}")
    for threads in (1, 4):
        (alone,) = [turns for label, turns in found.items() if "sqlite" in label and f"threads={threads}" in label]
        both = [turns for label, turns in found.items() if "mariadb" in label and f"threads={threads}" in label]
        assert both == [alone, alone], "each has data of its own"


@pytest.mark.parametrize(
    "factors", ["threads = [1, 4]\n'session.sort_buffer_size' = [1, 2]", "'session.sort_buffer_size' = [1, 2, 3]"]
)
def test_no_two_runs_on_the_same_table_have_the_same_turn(factors: str) -> None:
    taken = [turn for turns in by_cell(factors, OLD).values() for turn in turns]
    assert len(set(taken)) == len(taken)
    assert min(taken) == 0
