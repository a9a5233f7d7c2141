"""Whether a search finds what it says: on simulated queues whose capacity is known, and on servers worse than those.

    .venv/bin/python benches/search.py                 # all, some minutes of one core
    .venv/bin/python benches/search.py --searches 20   # a glance

Queues are M/M/c, every arrival simulated, so what a run says has the noise, the bias and the correlation of a real
window. A run is `arrivals` counted arrivals after a fifth as many that warm up; it is overloaded as a real run is, when
completions fall behind by 1 %. The capacity is the rate at which the p99 of the response time, by the known
distribution, is the limit. `noise`: from run to run the server is faster or slower by so much (standard deviation of
the log).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from bakeoff.analysis.search import Outcome, Question, Trial, next_step
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
SERVICE_PER_S = 1000.0
SHARE = 0.99
RANGE = Question(low=1, high=1e6, first=1000)


@dataclass(frozen=True)
class Queue:
    servers: int
    utilisation: float  # at the capacity
    arrivals: int = 20_000
    noise: float = 0.0

    @property
    def capacity(self) -> float:
        return self.utilisation * self.servers * SERVICE_PER_S

    @property
    def limit_s(self) -> float:
        """Bisection on the share of responses that are longer."""
        low, high = 0.0, 0.6
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if self._longer(middle) > 1 - SHARE else (low, middle)
        return high

    def _longer(self, time_s: float) -> float:
        """P(response > t) of M/M/c: Kleinrock (1975), waiting by Erlang C and service independent of it."""
        c, load = self.servers, self.capacity / SERVICE_PER_S
        first = sum(load**n / math.factorial(n) for n in range(c))
        last = load**c / math.factorial(c) * c / (c - load)
        waits = last / (first + last)
        spare = c - load - 1
        gained = SERVICE_PER_S * time_s if abs(spare) < 1e-9 else -math.expm1(-SERVICE_PER_S * time_s * spare) / spare
        return math.exp(-SERVICE_PER_S * time_s) * (1 + waits * gained)

    def excess(self, rates: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One run at each rate, all at once."""
        runs, warm = len(rates), self.arrivals // 5
        speed = SERVICE_PER_S * np.exp(rng.normal(0, self.noise, runs))
        free = np.zeros((runs, self.servers))
        each = np.arange(runs)
        now = np.zeros(runs)
        times = np.empty((self.arrivals, runs))
        ends = np.empty((self.arrivals, runs))
        for n in range(-warm, self.arrivals):
            now = now + rng.exponential(1, runs) / rates
            server = free.argmin(axis=1)
            end = np.maximum(now, free[each, server]) + rng.exponential(1, runs) / speed
            free[each, server] = end
            if n >= 0:
                times[n], ends[n] = end - now, end
        overloaded = (ends <= now).sum(axis=0) < 0.99 * self.arrivals
        found: FloatArray = np.log(np.quantile(times, SHARE, axis=0) / self.limit_s)
        return np.where(overloaded, np.inf, found)

    def __str__(self) -> str:
        noise = f", noise {self.noise:.0%}" if self.noise else ""
        return f"M/M/{self.servers} at {self.utilisation:.0%}, {self.arrivals:,} arrivals{noise}"


Answer = Callable[[float, int, np.random.Generator], float]
CAPACITY = 12_345.0


def beyond(rate: float) -> float:
    return math.log(rate / CAPACITY)


#: Worse than queues. (level, number of the run in its search, random numbers) -> excess.
SERVERS: dict[str, Answer] = {
    "hardly rises, noise 10 %": lambda x, n, rng: 0.7 * beyond(x) + rng.normal(0, 0.1),
    "rises, noise 30 %": lambda x, n, rng: 2 * beyond(x) + rng.normal(0, 0.3),
    "a knee, heavy noise after it": lambda x, n, rng: (
        (0.3 if beyond(x) < 0 else 6) * beyond(x) + rng.normal(0, 0.05 if beyond(x) < -0.1 else 0.35)
    ),
    "a cliff": lambda x, n, rng: -1 + rng.normal(0, 0.1) if beyond(x) < 0 else math.inf,
    "one run in twenty stalls": lambda x, n, rng: (
        math.inf if rng.random() < 0.05 else 4 * beyond(x) + rng.normal(0, 0.1)
    ),
    "slower by 0.2 % a run": lambda x, n, rng: 4 * (beyond(x) + 0.002 * (n - 6)) + rng.normal(0, 0.1),
}


def drifting(rho: float, noise: float) -> Callable[[np.random.Generator], Answer]:
    """Noise that one run hands on to the next, as a machine that is slower for some minutes does: a new one for each
    search. noise: standard deviation of the capacity's log."""

    def begun(rng: np.random.Generator) -> Answer:
        state = [rng.normal(0, noise)]

        def answer(level: float, number: int, rng: np.random.Generator) -> float:
            if number > 0:
                state[0] = rho * state[0] + rng.normal(0, noise * math.sqrt(1 - rho**2))
            return 4 * (beyond(level) - state[0]) + rng.normal(0, 0.05)

        return answer

    return begun


#: What the machine does to one run it does to the next.
DRIFTING = {
    f"capacity varies by {noise:.0%}, correlation {rho}": drifting(rho, noise)
    for noise in (0.02, 0.05)
    for rho in (0.0, 0.5, 0.9)
}
#: Of the runs: lost to infrastructure. Counted as "limit not kept" (as before), or repeated.
LOST = (0.1, 0.2)


def losing(share: float, answer: Answer) -> Answer:
    return lambda level, number, rng: math.inf if rng.random() < share else answer(level, number, rng)


def searched_together(question: Question, queue: Queue, searches: int, seed: int) -> list[Outcome]:
    """Their runs are simulated side by side, which is quick."""
    rng = np.random.default_rng(seed)
    trials: list[list[Trial]] = [[] for _ in range(searches)]
    found: dict[int, Outcome] = {}
    while len(found) < searches:
        levels = {}
        for number in set(range(searches)) - found.keys():
            step = next_step(question, trials[number])
            if isinstance(step, Outcome):
                found[number] = step
            else:
                levels[number] = step
        for number, excess in zip(levels, queue.excess(np.array(list(levels.values())), rng), strict=True):
            trials[number].append(Trial(levels[number], float(excess)))
    return list(found.values())


def searched(question: Question, answer: Answer, rng: np.random.Generator) -> Outcome:
    trials: list[Trial] = []
    while not isinstance(step := next_step(question, trials), Outcome):
        trials.append(Trial(step, answer(step, len(trials), rng)))
    return step


def tell(name: str, outcomes: Sequence[Outcome], capacity: float) -> None:
    """low and high are there wherever a run kept the limit and another did not, but for a flat curve, where nothing is
    claimed."""
    ends = [(found.low or 0.0, found.high or math.inf) for found in outcomes]
    held = sum(low <= capacity <= high for low, high in ends)
    widths = sorted(high / low - 1 for low, high in ends if low)
    runs = sorted(found.runs for found in outcomes)
    narrow, flat = (sum(found.status == status for found in outcomes) for status in ("found", "flat"))
    middle, width = len(outcomes) // 2, f"{widths[len(widths) // 2]:.1%}" if widths else "-"
    print(
        f"{name:<46} {held / len(outcomes):>6.1%} {narrow / len(outcomes):>6.0%} {flat / len(outcomes):>6.0%}"
        f" {runs[middle]:>5} {runs[-1]:>5} {width:>7}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--searches", type=int, default=200, help="of each kind (default: 200)")
    searches = parser.parse_args().searches
    print(f"{'':<46} {'holds':>6} {'found':>6} {'flat':>6} {'runs':>5} {'most':>5} {'width':>7}")
    places = [(1, 0.5), (1, 0.7), (1, 0.8), (1, 0.9), (4, 0.5), (4, 0.6), (4, 0.7), (4, 0.8), (4, 0.9)]
    places += [(16, 0.8), (16, 0.9)]
    queues = [Queue(4, 0.8, arrivals=5_000), *(Queue(4, 0.8, noise=noise) for noise in (0.02, 0.05))]
    queues += [Queue(*place) for place in places]
    for queue in queues:
        tell(str(queue), searched_together(RANGE, queue, searches, seed=1), queue.capacity)
    for name, answer in SERVERS.items():
        rng = np.random.default_rng(1)
        tell(name, [searched(RANGE, answer, rng) for _ in range(searches)], CAPACITY)
    for name, begun in DRIFTING.items():
        rng = np.random.default_rng(1)
        tell(name, [searched(RANGE, begun(rng), rng) for _ in range(searches)], CAPACITY)
    for share in LOST:
        rng = np.random.default_rng(1)
        lost = losing(share, SERVERS["rises, noise 30 %"])
        tell(
            f"{share:.0%} of the runs lost and counted", [searched(RANGE, lost, rng) for _ in range(searches)], CAPACITY
        )


if __name__ == "__main__":
    main()
