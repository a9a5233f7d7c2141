"""What disturbed runs do to the judgement of comparisons: false positives of a system against itself, and how often a
planted 5 % is found, where disturbed runs count, where they are left out, and where they are repeated as bakeoff does.

    bakeoff run benches/plans/disturbed.toml --out /tmp/records --no-report  # on a machine that compiles: 5 minutes
    .venv/bin/python benches/disturbance.py --keep /tmp/records        # writes benches/results/disturbance.json
    .venv/bin/python benches/disturbance.py                            # simulates from that file: a minute

A disturbance in the simulation is a piece of the recorded series of one system: shares of the CPU time of other
processes, run by run, with the rates that came with them. Its strength is drawn for each, from 5 % of the recorded one
to all of it, so that some stay below the bound. Between two of them the machine is quiet.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

import numpy as np
from bakeoff.analysis.compare import judge
from bakeoff.analysis.estimate import RunValue, paired
from bakeoff.analysis.registry import metric
from bakeoff.analysis.validity.disturbance import OTHER_PROCESSES
from bakeoff.bundle.read import Bundle
from bakeoff.model.records.run import RunRecord, Validity, runs_that_count
from bakeoff.schedule.run_order import Repeats, Slot, schedule

RECORDS = Path(__file__).parent / "results/disturbance.json"
SIMULATIONS = 2000
BLOCKS = 10
NOISE = 0.02
#: Runs that a disturbance, and a quiet time between two, last on average.
DISTURBED_RUNS, QUIET_RUNS = 5.0, 8.0
Records = list[tuple[float, float]]
#: The share of others and the log-rate, of the run that is made at this time for this cell.
Machine = Iterator[tuple[float, float]]


def keep(folder: Path) -> None:
    bundle = Bundle.open(folder)
    systems = {cell.id: cell.system for cell in bundle.plan.cells}
    rows = [
        {
            "system": systems[run.cell],
            "order": run.order,
            "other_cpu_ratio": round(run.machine.other_cpu_ratio or 0.0, 4),
            "steal_ratio": round(run.steal_ratio, 4),
            "rate_ops_per_s": round(run.rate_ops_per_s, 1),
        }
        for run in bundle.attempts
        if run.state == "done"
    ]
    RECORDS.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


def records(system: str) -> Records:
    """Of one system in the order of time: share of others, and the log of the rate against that of its best tenth."""
    rows = [row for row in json.loads(RECORDS.read_text()) if row["system"] == system]
    rates = np.log([row["rate_ops_per_s"] for row in rows])
    best = np.quantile(rates, 0.9)
    return [(row["other_cpu_ratio"], float(rate - best)) for row, rate in zip(rows, rates, strict=True)]


def machine(rng: np.random.Generator, recorded: Records, *, hurts: bool) -> Machine:
    """hurts: whether a disturbed run is slower, as recorded; else the share of others is all that shows it."""
    while True:
        for _ in range(rng.geometric(1 / QUIET_RUNS)):
            yield 0.03 * rng.random(), 0.0
        strength, at = rng.uniform(0.05, 1.0), rng.integers(len(recorded))
        for i in range(rng.geometric(1 / DISTURBED_RUNS)):
            ratio, slower = recorded[(at + i) % len(recorded)]
            yield strength * ratio, strength * slower if hurts else 0.0


def second_of_each_pair(rng: np.random.Generator, recorded: Records) -> Callable[[Slot], tuple[float, float]]:
    """Something that goes on whenever b runs, and never when a does: a timer that fell in step with the plan."""
    return lambda slot: recorded[rng.integers(len(recorded))] if slot.cell == "b" else (0.0, 0.0)


def attempts(
    rng: np.random.Generator, condition: Callable[[Slot], tuple[float, float]], effect: float, repeats_max: int
) -> tuple[list[RunRecord], dict[str, float]]:
    """As a plan of two cells is carried out; and the value of each run."""
    slots = schedule(["a", "b"], BLOCKS, int(rng.integers(1 << 30)))
    repeats, made, values = Repeats([], repeats_max), [], {}

    def one(slot: Slot) -> None:
        slot = repeats.next_attempt(slot)
        ratio, slower = condition(slot)
        found = [Validity(name=OTHER_PROCESSES.name, severity="disturbed", ok=ratio <= OTHER_PROCESSES.bound, words="")]
        run = RunRecord(
            id=slot.run, block=slot.block, cell=slot.cell, order=slot.order, attempt=slot.attempt,
            started="", state="done", seed=1, validity=found,
        )  # fmt: skip
        repeats.add(run)
        made.append(run)
        values[run.id] = math.exp(slower + rng.normal(0, NOISE)) * (1 + effect if slot.cell == "b" else 1)

    for _, of_block in groupby(slots, key=lambda slot: slot.block):
        block = list(of_block)
        for slot in block:
            one(slot)
        for slot in repeats.chosen(block):
            one(slot)
    while chosen := repeats.chosen(slots):
        for slot in chosen:
            one(slot)
    return made, values


def claimed(runs: list[RunRecord], values: dict[str, float], keep: Callable[[RunRecord], bool]) -> str:
    """The verdict; "" where nothing was judged."""
    sides: list[dict[int, RunValue]] = [
        {run.block: values[run.id] for run in runs if run.cell == cell and keep(run)} for cell in "ab"
    ]
    verdict = judge([paired("", metric("rate"), "a", "b", *sides)])[0].verdict
    return verdict if verdict in ("higher", "lower", "no difference") else ""


def slow_ones_left_out(runs: list[RunRecord], values: dict[str, float]) -> Callable[[RunRecord], bool]:
    """What must not be done: the slowest three tenths of each side are called outliers."""
    least = {cell: np.quantile([values[r.id] for r in runs if r.cell == cell], 0.3) for cell in "ab"}
    return lambda run: values[run.id] >= least[run.cell]


def simulate() -> None:
    rng = np.random.default_rng(18)
    random.seed(18)
    print(f"{SIMULATIONS} comparisons of {BLOCKS} blocks each; claimed / nothing judged, in %")
    for name in ("sqlite", "null"):
        recorded = records(name)
        ways: dict[str, Callable[[], Callable[[Slot], tuple[float, float]]]] = {
            "slows the runs as recorded": lambda r=recorded: _next(machine(rng, r, hurts=True)),
            "leaves the rates alone": lambda r=recorded: _next(machine(rng, r, hurts=False)),
            "goes on whenever b runs": lambda r=recorded: second_of_each_pair(rng, r),
        }
        for way, of in ways.items():
            print(f"\ndisturbance as recorded with {name}, which {way}")
            for effect in (0.0, 0.05):
                print(f"  {'the same system twice' if effect == 0 else 'b is 5 % faster'}")
                _print_shares(rng, of, effect)


def _print_shares(
    rng: np.random.Generator, of: Callable[[], Callable[[Slot], tuple[float, float]]], effect: float
) -> None:
    found: dict[str, list[str]] = {}
    for _ in range(SIMULATIONS):
        made, values = attempts(rng, of(), effect, 2 * BLOCKS)
        first = [run for run in made if run.attempt == 1]
        rules = {
            "disturbed runs count (before)": claimed(first, values, lambda run: True),
            "left out, none repeated": claimed(first, values, lambda run: run.valid),
            "left out and repeated (now)": claimed(runs_that_count(made), values, lambda run: run.valid),
            "slow runs left out instead": claimed(first, values, slow_ones_left_out(first, values)),
        }
        for rule, verdict in rules.items():
            found.setdefault(rule, []).append(verdict)
    for rule, verdicts in found.items():
        claims = sum(verdict in ("higher", "lower") for verdict in verdicts) / len(verdicts)
        silent = sum(not verdict for verdict in verdicts) / len(verdicts)
        print(f"    {rule:32} {claims:7.1%} {silent:7.1%}")


def _next(conditions: Machine) -> Callable[[Slot], tuple[float, float]]:
    return lambda _: next(conditions)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--keep", type=Path, metavar="BUNDLE", help="write what its runs were disturbed by to the file")
    options = p.parse_args()
    if options.keep:
        keep(options.keep)
    else:
        simulate()


if __name__ == "__main__":
    main()
