"""Blocks: one repetition of every cell each, in seeded random order."""

from bakeoff.schedule.order import schedule
from hypothesis import given
from hypothesis import strategies as st


@given(st.integers(1, 30), st.integers(1, 12), st.integers(0, 2**63))
def test_every_block_holds_every_cell_once(cells: int, repetitions: int, seed: int) -> None:
    names = [f"c{i:02d}" for i in range(cells)]
    slots = schedule(names, repetitions, seed)
    assert [s.order for s in slots] == list(range(cells * repetitions))
    for block in range(1, repetitions + 1):
        assert sorted(s.cell for s in slots if s.block == block) == names


def test_the_same_seed_gives_the_same_order_and_another_one_another() -> None:
    names = [f"c{i:02d}" for i in range(12)]
    assert schedule(names, 5, 7) == schedule(names, 5, 7)
    assert schedule(names, 5, 7) != schedule(names, 5, 8)


def test_blocks_differ_in_their_order() -> None:
    names = [f"c{i:02d}" for i in range(12)]
    slots = schedule(names, 2, 1)
    assert [s.cell for s in slots[:12]] != [s.cell for s in slots[12:]]
