"""Whether bakeoff's judgement deserves belief, by counting: how often one and the same system is called different, how
often a planted slowdown of 5 % is found, and what failed runs and other days do to both.

    .venv/bin/python benches/judgement.py                         # simulated, with a known truth: seconds

    bakeoff run benches/plans/same.toml    --results /tmp/same     # 42 real runs of one SQLite cell, about 4 minutes
    bakeoff run benches/plans/planted.toml --results /tmp/planted  # 30 blocks of two null systems, about 4 minutes
    for i in 1 2 3 4 5 6; do bakeoff run benches/plans/one_bundle.toml --results /tmp/bundles; done   # 30 s each
    cp benches/plans/twin.toml /tmp/; cp benches/plans/twin.toml /tmp/copy.toml
    bakeoff run /tmp/twin.toml /tmp/copy.toml --out /tmp/twins     # 60 real runs, about 6 minutes
    .venv/bin/python benches/judgement.py --twins /tmp/twins
    .venv/bin/python benches/judgement.py --same /tmp/same/* --planted /tmp/planted/* --bundles /tmp/bundles/*

Simulated comparisons are first answers, judged at 4 %. Those of real runs draw from them without replacement, and are
judged at the whole 5 %: they tell what judging so makes of real noise, and at 5 % there is more to see. Each comparison
is judged alone, so Holm's correction has nothing to correct.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from bakeoff.analysis.compare import ALPHA, Comparison, judge
from bakeoff.analysis.estimate import POWER, Invalid, RunValue, paired, unpaired
from bakeoff.analysis.limit import parse
from bakeoff.analysis.registry import metric
from bakeoff.analysis.statistics import alpha_after, alpha_at, parts, parts_words, t_detectable
from bakeoff.analysis.thresholds import RunReading, alpha_of_each
from bakeoff.analysis.thresholds import judge as judge_value
from bakeoff.analysis.validity import steady
from bakeoff.bundle.read import Bundle
from numpy.typing import NDArray
from scipy import stats

COMPARISONS = 200
SIMULATIONS = 4000
SERIES = 500
RATE = metric("rate")
PLANTED = 0.95
SURVIVES = 0.7
WITHIN, BETWEEN, RUNS = 0.01, 0.02, 5
FIRST = alpha_at(1, ALPHA)
Runs = dict[int, RunValue]
FloatArray = NDArray[np.float64]


def in_pairs(base: Runs, other: Runs, alpha: float = FIRST) -> Comparison:
    return judge([paired("", RATE, "A", "B", base, other)], alpha=alpha)[0]


def over_bundles(base: Sequence[Sequence[float]], other: Sequence[Sequence[float]], alpha: float = FIRST) -> Comparison:
    return judge([unpaired("", RATE, "A", "B", base, other)], alpha=alpha)[0]


def share(found: Sequence[Comparison], verdicts: Sequence[str] = ("higher", "lower")) -> str:
    return f"{sum(c.verdict in verdicts for c in found) / len(found):.1%}"


# -- simulated: the truth is known -----------------------------------------------------------------------------------


def survivors(
    rng: np.random.Generator, repetitions: int, *, refused: bool = False, repeated: bool = False
) -> Comparison:
    """B is 5 % faster when it works, and fails in three of ten runs. Not `refused`: those runs are just left out, or
    `repeated` until they work, as a resume of failed runs would."""
    a, b = (np.exp(rng.normal(mean, WITHIN, repetitions)) for mean in (0, np.log(1.05)))
    works = rng.random(repetitions) < SURVIVES
    runs: Runs = {
        i: float(x) if ok else Invalid(frozenset({"errors"})) for i, (x, ok) in enumerate(zip(b, works, strict=True))
    }
    if repeated:
        runs = {i: float(x) for i, x in enumerate(b)}
    elif not refused:
        runs = {i: value for i, value in runs.items() if not isinstance(value, Invalid)}
    return in_pairs({i: float(x) for i, x in enumerate(a)}, runs)


def simulated_bundles(rng: np.random.Generator, before: int, after: int, factor: float = 1.0) -> Comparison:
    return over_bundles(drawn_bundles(rng, before), drawn_bundles(rng, after, factor))


def drawn_bundles(rng: np.random.Generator, count: int, factor: float = 1.0) -> list[list[float]]:
    each = [factor * np.exp(rng.normal(0, BETWEEN) + rng.normal(0, WITHIN, RUNS)) for _ in range(count)]
    return [[float(x) for x in bundle] for bundle in each]


def simulate() -> None:
    rng = np.random.default_rng(1)
    for repetitions in (5, 7, 10):
        ways: list[dict[str, bool]] = [{"refused": True}, {}, {"repeated": True}]
        claims = [share([survivors(rng, repetitions, **way) for _ in range(SIMULATIONS)]) for way in ways]
        print(
            f"survivors, {repetitions:>2} repetitions: 5 % faster when it works, fails in 30 % of its runs: claimed"
            f" faster in {claims[0]} (with failed runs left out: {claims[1]}, repeated until they work:"
            f" {claims[2]}); never failed: {SURVIVES**repetitions:.1%}"
        )
    for before, after in ((1, 1), (2, 2), (3, 3), (5, 5), (2, 5), (4, 1)):
        alarms = share([simulated_bundles(rng, before, after) for _ in range(SIMULATIONS)])
        found = share([simulated_bundles(rng, before, after, PLANTED) for _ in range(SIMULATIONS)], ["lower"])
        print(
            f"bundles, {before} against {after}: {WITHIN:.0%} within, {BETWEEN:.0%} between: one system called"
            f" different in {alarms}; planted 5 % slowdown found in {found}"
        )


def simulate_thresholds() -> None:
    """A threshold on exactly what the system has, and one 10 % away from it."""
    limit = parse("latency_p99 > 2ms")
    for cells, repetitions in ((1, 3), (1, 5), (1, 10), (20, 3), (20, 5), (20, 10)):
        for noise in (0.02, 0.2):
            rng = np.random.default_rng(3)
            alpha = alpha_of_each(cells, FIRST)
            plans = SIMULATIONS if cells == 1 else SIMULATIONS // 10
            for factor in (1.0, 0.9, 1.1):
                found: list[set[str]] = []
                for _ in range(plans):
                    values = 2.0 * factor * np.exp(rng.normal(0, noise, (cells, repetitions)))
                    found.append({judge_value(limit, [RunReading(v) for v in one], alpha).status for one in values})
                shares = {
                    status: f"{sum(status in one for one in found) / plans:.1%}" for status in ("failed", "passed")
                }
                print(
                    f"threshold, {cells:>2} cells, {repetitions:>2} repetitions, noise {noise:.0%}, truth at"
                    f" {factor:.0%} of it: some cell failed in {shares['failed']}, some passed in {shares['passed']}",
                    flush=True,
                )


def tell_smallest() -> None:
    """What a comparison of one cell shows in four of five cases, by what a single run scatters."""
    scatters = (0.01, 0.02, 0.05, 0.1, 0.2)
    for repetitions in (5, 10, 20, 40):
        multiple = t_detectable(FIRST, repetitions - 1, POWER) / math.sqrt(repetitions)
        seen = ", ".join(f"{s:.0%}: {math.expm1(multiple * s * math.sqrt(2)):.2g}" for s in scatters)
        print(f"shown in four of five, {repetitions:>2} repetitions, by the scatter of one run: {seen}")


def simulate_parts() -> None:
    """How near the estimated variation between and within bundles comes to the truth."""
    rng = np.random.default_rng(2)
    for each in (2, 3, 5, 10):
        found = [parts([drawn_bundles(rng, each), drawn_bundles(rng, each)]) for _ in range(SIMULATIONS)]
        for name, truth in (("between", BETWEEN), ("within", WITHIN)):
            told = [getattr(one, name) for one in found]
            low, high = np.quantile(told, [0.05, 0.95])
            print(
                f"parts, {each} against {each}: {name} {truth:.0%} told as {np.sqrt(np.mean(np.square(told))):.1%}"
                f" on average, in nine of ten between {low:.1%} and {high:.1%}"
            )


def stalling(rng: np.random.Generator, repetitions: int, change: float, stalls: float = 0.1) -> Comparison:
    """B is faster by `change` (a log-ratio) in the typical run, and stalls by 30 % in some: a first answer."""
    a, b = (rng.normal(mean, WITHIN, repetitions) for mean in (0.0, change))
    b = b + math.log(0.7) * (rng.random(repetitions) < stalls)
    return in_pairs(dict(enumerate(np.exp(a))), dict(enumerate(np.exp(b))))


def plain_t(rng: np.random.Generator, repetitions: int, change: float) -> FloatArray:
    """Lower and upper ends, as log-ratios, of t intervals of all blocks of such plans: shape (SIMULATIONS, 2)."""
    shape = (SIMULATIONS, repetitions)
    logs = rng.normal(change, WITHIN, shape) - rng.normal(0, WITHIN, shape) + math.log(0.7) * (rng.random(shape) < 0.1)
    half = stats.t.ppf(1 - FIRST / 2, repetitions - 1) * logs.std(axis=1, ddof=1) / math.sqrt(repetitions)
    return np.stack([logs.mean(axis=1) - half, logs.mean(axis=1) + half], axis=1)


def within(ends: FloatArray, truth: float) -> float:
    return float(((ends[:, 0] <= truth) & (ends[:, 1] >= truth)).mean())


def holds(found: Sequence[Comparison], truth: float) -> str:
    return (
        f"{sum(c.low is not None and c.high is not None and c.low <= truth <= c.high for c in found) / len(found):.1%}"
    )


def simulate_stalls() -> None:
    """What a first answer says where one side stalls in one run of ten, and where none does."""
    rng = np.random.default_rng(3)
    for repetitions in (5, 7, 10, 20, 40):
        alike, faster, clean = (
            [stalling(rng, repetitions, math.log(ratio), stalls) for _ in range(SIMULATIONS)]
            for ratio, stalls in ((1.0, 0.1), (1.03, 0.1), (1.03, 0.0))
        )
        print(
            f"stalls, {repetitions:>2} repetitions: the typical ratio held in {holds(alike, 1.0)}, alike called"
            f" different in {share(alike)}; 3 % faster typically and 0.6 % slower over all runs called faster in"
            f" {share(faster, ['higher'])} (no run stalled in {0.9**repetitions:.1%}); without stalls found in"
            f" {share(clean, ['higher'])}, outlying blocks in {sum(bool(c.notes) for c in clean) / len(clean):.1%}"
        )
        same, typically = (plain_t(rng, repetitions, math.log(ratio)) for ratio in (1.0, 1.03))
        mean = 0.1 * math.log(0.7)
        print(
            f"  the t interval of all blocks held the mean in {within(same, mean):.1%}, the typical ratio in"
            f" {within(same, 0):.1%}; slower over all called faster in {(typically[:, 0] > 0).mean():.1%}"
        )


def series(rng: np.random.Generator, analyses: Sequence[tuple[int, int]], *, recorded: bool) -> int:
    """How many cells, all alike, are called different by the last analysis. analyses: (cells, blocks) of each.
    Not `recorded`: each analysis is judged as the first, as when reports of running plans did not count."""
    logs = rng.normal(0, 2 * WITHIN, (max(cells for cells, _ in analyses), 2, analyses[-1][1]))
    still, spent = set(range(len(logs))), list[float]()
    for cells, blocks in analyses:
        spent.append(alpha_after(spent if recorded else [], ALPHA))
        asked = sorted(still & set(range(cells)))
        sides = [[dict(enumerate(np.exp(logs[i, side, :blocks]))) for side in (0, 1)] for i in asked]
        found = judge([paired("", RATE, "A", "B", *both) for both in sides], alpha=spent[-1])
        still -= {i for i, c in zip(asked, found, strict=True) if c.claims_difference}
    return len(logs) - len(still)


def simulate_series() -> None:
    rng = np.random.default_rng(4)
    cases = {
        "report after each block, from 5 to 20, of one cell": [(1, blocks) for blocks in range(5, 21)],
        "a plan that grows: 4, 8 and 12 cells at 5, 10 and 20 repetitions": [(4, 5), (8, 10), (12, 20)],
    }
    for name, analyses in cases.items():
        wrong = [
            sum(series(rng, analyses, recorded=recorded) > 0 for _ in range(SIMULATIONS // 2)) / (SIMULATIONS // 2)
            for recorded in (True, False)
        ]
        print(f"{name}: something false claimed in {wrong[0]:.1%} (each judged as the first: {wrong[1]:.1%})")


def second_by_second(rng: np.random.Generator, seconds: int, cv: float, correlation: float) -> FloatArray:
    """Rates around 1,000/s, each correlated with the one before: an autoregressive series of the first order."""
    noise = rng.normal(0, cv * math.sqrt(1 - correlation**2), seconds)
    noise[0] /= math.sqrt(1 - correlation**2)
    for i in range(1, seconds):
        noise[i] += correlation * noise[i - 1]
    return 1000 * (1 + noise)


def simulate_steadiness() -> None:
    """How often a window is called unsteady that is steady, that rises by 20 %, that begins 40 % below its level."""
    rng = np.random.default_rng(5)
    for seconds in (30, 60):
        at = np.arange(seconds)
        rising = 1 + 0.2 * (at / seconds - 0.5)
        settling = 1 - 0.4 * np.exp(-at / (seconds / 8))
        for cv in (0.02, 0.05, 0.1):
            for correlation in (0.0, 0.5, 0.8):
                accused = [
                    sum(
                        not steady.judge(shape * second_by_second(rng, seconds, cv, correlation)).ok
                        for _ in range(SERIES)
                    )
                    / SERIES
                    for shape in (np.ones(seconds), rising, settling)
                ]
                print(
                    f"{seconds} s, variation {cv:.0%}, correlation {correlation}: steady but accused"
                    f" {accused[0]:.1%}, trend found {accused[1]:.1%}, transient found {accused[2]:.1%}"
                )


# -- from real runs --------------------------------------------------------------------------------------------------


def same_system(bundle: Bundle, repetitions: int, rng: random.Random) -> Comparison:
    """Two consecutive runs are a block; chance decides which of them is called A."""
    rates = [run.rate_ops_per_s for run in bundle.runs if run.valid]
    pairs = [(rates[i], rates[i + 1]) for i in range(0, len(rates) - 1, 2)]
    blocks = [rng.sample(pair, 2) for pair in rng.sample(pairs, repetitions)]
    a, b = ({i: block[side] for i, block in enumerate(blocks)} for side in (0, 1))
    return in_pairs(a, b, ALPHA)


def planted(bundle: Bundle, repetitions: int, rng: random.Random) -> Comparison:
    systems = {cell.id: cell.system for cell in bundle.plan.cells}
    rates: dict[str, Runs] = {"fast": {}, "slow": {}}
    for run in bundle.runs:
        if run.state == "done":
            rates[systems[run.cell]][run.block] = run.rate_ops_per_s
    blocks = rng.sample(sorted(rates["fast"].keys() & rates["slow"].keys()), repetitions)
    return in_pairs(*({i: rates[name][i] for i in blocks} for name in ("fast", "slow")), ALPHA)


def real_pairs(same: Path, slow: Path) -> None:
    rng = random.Random(1)
    alike, other = Bundle.open(same), Bundle.open(slow)
    for repetitions in (5, 7):
        alarms = share([same_system(alike, repetitions, rng) for _ in range(COMPARISONS)])
        found = share([planted(other, repetitions, rng) for _ in range(COMPARISONS)], ["lower"])
        print(
            f"{repetitions} repetitions: {len(alike.runs)} runs of one system, {COMPARISONS} comparisons:"
            f" {alarms} claim a difference; planted 5 % slowdown found in {found}"
        )


def real_twins(folder: Path) -> None:
    """A plan and its copy, run side by side: what one and the same differs by, and what could have been seen."""
    bundle = Bundle.open(folder)
    sides = dict.fromkeys(str(cell.levels["plan"]) for cell in bundle.plan.cells)
    cells = {cell.id: str(cell.levels["plan"]) for cell in bundle.plan.cells}
    rates: dict[str, Runs] = {side: {} for side in sides}
    for run in bundle.runs:
        rates[cells[run.cell]][run.block] = run.rate_ops_per_s
    base, other = rates.values()
    spread = np.std([np.log(value) for value in base.values()], ddof=1)
    print(f"{len(base)} blocks of a plan and its copy; the rate of one differs by {spread:.1%} from run to run")
    rng = random.Random(1)
    for repetitions in (5, 10, 20):
        blocks = [rng.sample(sorted(base.keys() & other.keys()), repetitions) for _ in range(COMPARISONS)]
        found = [in_pairs(*({i: side[i] for i in drawn} for side in (base, other)), ALPHA) for drawn in blocks]
        seen = sorted(c.detectable_ratio for c in found if c.detectable_ratio is not None)
        half, most = seen[len(seen) // 2], seen[len(seen) * 9 // 10]
        print(
            f"  {repetitions:>2} repetitions: {share(found)} of {COMPARISONS} comparisons claim a difference; the"
            f" smallest detectable difference is at most {half:.1%} in half of them, {most:.1%} in nine of ten"
        )


def real_bundles(folders: Sequence[Path]) -> None:
    """Bundles of one plan and one system, made one after the other: every way to take some of them a side."""
    rates = [[run.rate_ops_per_s for run in Bundle.open(folder).runs if run.valid] for folder in folders]
    if found := parts([rates]):
        print(f"{len(rates)} bundles of one system: {parts_words([found])}")
    rng = random.Random(1)
    for each in range(1, len(rates) // 2 + 1):
        drawn = [rng.sample(rates, 2 * each) for _ in range(COMPARISONS)]
        alarms = share([over_bundles(bundles[:each], bundles[each:], ALPHA) for bundles in drawn])
        print(f"  {each} against {each}: {alarms} of {COMPARISONS} comparisons claim a difference")


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--same", type=Path, help="bundle of benches/plans/same.toml")
    p.add_argument("--planted", type=Path, help="bundle of benches/plans/planted.toml")
    p.add_argument("--bundles", type=Path, nargs="+", default=[], help="bundles of benches/plans/one_bundle.toml")
    p.add_argument("--twins", type=Path, help="bundle of a plan of one cell, run alongside its copy")
    options = p.parse_args()
    if bool(options.same) != bool(options.planted):
        p.error("--same and --planted go together")
    if options.same and options.planted:
        real_pairs(options.same, options.planted)
    if options.bundles:
        real_bundles(options.bundles)
    if options.twins:
        real_twins(options.twins)
    if not (options.same or options.planted or options.bundles or options.twins):
        simulate()
        simulate_parts()
        simulate_stalls()
        simulate_series()
        tell_smallest()
        simulate_thresholds()
        simulate_steadiness()


if __name__ == "__main__":
    main()
