"""Whether bakeoff's judgement deserves belief, by counting: false alarms among comparisons of one and the same system,
and how often a planted slowdown of 5 % is found.

    bakeoff run benches/plans/same.toml    --out /tmp/same        # 42 real runs of one SQLite cell, about 4 minutes
    bakeoff run benches/plans/planted.toml --out /tmp/planted     # 30 blocks of two null systems, about 4 minutes
    .venv/bin/python benches/judgement.py /tmp/same/* /tmp/planted/*

Each of the 200 comparisons draws 7 pairs of neighbouring runs (a block) without replacement and judges them as a report
would. A comparison is judged alone here, so Holm's correction has nothing to correct.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from bakeoff.analysis.compare import Comparison, judge, paired
from bakeoff.analysis.objective import Objective
from bakeoff.bundle.read import Bundle

COMPARISONS = 200
RATE = Objective.parse("rate")


def same_system(bundle: Bundle, repetitions: int, rng: random.Random) -> Comparison:
    """Neighbouring runs are a block; which of the two is called A is drawn."""
    rates = [run.rate_ops_per_s for run in bundle.runs if run.valid]
    pairs = [(rates[i], rates[i + 1]) for i in range(0, len(rates) - 1, 2)]
    blocks = [rng.sample(pair, 2) for pair in rng.sample(pairs, repetitions)]
    a, b = ({i: block[side] for i, block in enumerate(blocks)} for side in (0, 1))
    return judge([paired("same", RATE, "A", "B", a, b)])[0]


def planted(bundle: Bundle, repetitions: int, rng: random.Random) -> Comparison:
    systems = {cell.id: cell.system for cell in bundle.plan.cells}
    rates: dict[str, dict[int, float | None]] = {"fast": {}, "slow": {}}
    for run in bundle.runs:
        if run.state == "done":
            rates[systems[run.cell]][run.block] = run.rate_ops_per_s
    blocks = rng.sample(sorted(rates["fast"].keys() & rates["slow"].keys()), repetitions)
    a, b = ({i: rates[name][i] for i in blocks} for name in ("fast", "slow"))
    return judge([paired("planted", RATE, "fast", "slow", a, b)])[0]


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("same", type=Path, help="bundle of benches/plans/same.toml")
    p.add_argument("planted", type=Path, help="bundle of benches/plans/planted.toml")
    options = p.parse_args()
    rng = random.Random(1)
    same, slow = Bundle.open(options.same), Bundle.open(options.planted)
    for repetitions in (5, 7):
        alike = [same_system(same, repetitions, rng) for _ in range(COMPARISONS)]
        alarms = sum(c.claims_difference for c in alike)
        found = [planted(slow, repetitions, rng) for _ in range(COMPARISONS)]
        right = sum(c.verdict == "lower" for c in found)
        print(
            f"{repetitions} repetitions: {len(same.runs)} runs of one system, {COMPARISONS} comparisons: "
            f"{alarms / COMPARISONS:.1%} claim a difference; planted 5 % slowdown found in {right / COMPARISONS:.1%}"
        )
        undecided = next((c for c in alike if not c.claims_difference), None)
        if undecided is not None:
            print(f"  an undecided one says: {undecided.words}")


if __name__ == "__main__":
    main()
