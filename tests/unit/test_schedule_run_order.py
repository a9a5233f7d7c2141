"""Blocks: one repetition of every cell each, in seeded random order, no cell systematically before another."""

from itertools import combinations

from bakeoff.schedule.run_order import Slot, schedule
from hypothesis import given
from hypothesis import strategies as st

CELLS = st.lists(st.text("0123456789abcdef", min_size=1, max_size=6), min_size=1, max_size=30, unique=True)
BLOCKS = st.integers(1, 12)
SEEDS = st.integers(0, 2**63)
NAMES = [f"c{i:02d}" for i in range(12)]


def blocks_of(slots: list[Slot]) -> list[list[str]]:
    blocks: dict[int, list[str]] = {}
    for slot in slots:
        blocks.setdefault(slot.block, []).append(slot.cell)
    return list(blocks.values())


@given(CELLS, BLOCKS, SEEDS)
def test_every_block_holds_every_cell_once(cells: list[str], repetitions: int, seed: int) -> None:
    slots = schedule(cells, repetitions, seed)
    assert [s.order for s in slots] == list(range(len(cells) * repetitions))
    assert [s.block for s in slots] == sorted(s.block for s in slots)
    assert [sorted(block) for block in blocks_of(slots)] == [sorted(cells)] * repetitions


@given(CELLS, BLOCKS, SEEDS)
def test_of_any_two_cells_each_goes_first_in_half_of_the_blocks(cells: list[str], repetitions: int, seed: int) -> None:
    blocks = blocks_of(schedule(cells, repetitions, seed))
    for a, b in combinations(cells, 2):
        first = sum(block.index(a) < block.index(b) for block in blocks)
        assert abs(2 * first - repetitions) == repetitions % 2


@given(CELLS, st.integers(1, 6).map(lambda n: 2 * n), SEEDS)
def test_over_an_even_number_of_blocks_all_cells_stand_at_the_same_mean_place(
    cells: list[str], repetitions: int, seed: int
) -> None:
    blocks = blocks_of(schedule(cells, repetitions, seed))
    assert {2 * sum(block.index(cell) for block in blocks) for cell in cells} == {repetitions * (len(cells) - 1)}


@given(st.lists(st.sampled_from(NAMES), min_size=1, unique=True), BLOCKS, SEEDS)
def test_a_plan_that_grows_keeps_the_order_of_what_it_had(cells: list[str], repetitions: int, seed: int) -> None:
    before = blocks_of(schedule(cells, repetitions, seed))
    after = blocks_of(schedule(NAMES, repetitions + 1, seed))
    assert [[cell for cell in block if cell in cells] for block in after[:repetitions]] == before


def test_the_same_seed_gives_the_same_order_and_another_one_another() -> None:
    assert schedule(NAMES, 5, 7) == schedule(NAMES[::-1], 5, 7)
    assert schedule(NAMES, 5, 7) != schedule(NAMES, 5, 8)


def test_pairs_of_blocks_differ_in_their_order() -> None:
    first, _, third, _ = blocks_of(schedule(NAMES, 4, 1))
    assert third not in (first, first[::-1])
