"""Whether a client that falls behind the others is found, and equal ones are left alone, by counting.

    .venv/bin/python -m benches.clients          # simulated, with a known truth: a minute

Each client has a rate of its own for the whole run (scatter), noise that it partly keeps from one tenth of a second to
the next, and Poisson counts; now and then a checkpoint halves the rate of all.
"""

from __future__ import annotations

import argparse

import numpy as np
from bakeoff.analysis.validity.slow_clients import FloatArray, behind_in_rate, behind_in_response

SIMULATIONS = 1000
NOISE = 0.2
MEMORY = 0.5
CLIENTS = (2, 3, 6, 16, 50)


def drawn(
    rng: np.random.Generator, clients: int, tenths: int, per_tenth: float, scatter: float, slow: int = 0
) -> FloatArray:
    """Operations of each client in each tenth. slow: number of clients with half the CPU and half the throughput."""
    own = np.exp(rng.normal(0, scatter, clients))
    own[:slow] *= 0.5
    noise = rng.normal(0, NOISE, (clients, tenths))
    for at in range(1, tenths):
        noise[:, at] = MEMORY * noise[:, at - 1] + np.sqrt(1 - MEMORY**2) * noise[:, at]
    shared = np.where(rng.random(tenths) < 0.1, 0.5, 1.0)
    return rng.poisson(per_tenth * own[:, None] * np.exp(noise) * shared).astype(float)


def share_false(
    rng: np.random.Generator, runs: int, clients: int, tenths: int, per_tenth: float, scatter: float
) -> float:
    """Of runs of equal clients, those in which some client is said to have fallen behind."""
    return float(np.mean([bool(behind_in_rate(drawn(rng, clients, tenths, per_tenth, scatter))) for _ in range(runs)]))


def share_found(
    rng: np.random.Generator, runs: int, clients: int, tenths: int, per_tenth: float, scatter: float, slow: int
) -> float:
    """Of runs with `slow` clients at half the CPU, those in which these are found, and no other."""
    found = (behind_in_rate(drawn(rng, clients, tenths, per_tenth, scatter, slow)) for _ in range(runs))
    return float(np.mean([[each.client for each in one] == list(range(slow)) for one in found]))


def answered(rng: np.random.Generator, clients: int, seconds: int, scatter: float, factor: float = 1.0) -> list[int]:
    """Clients found by the mean response times of an open loop: of a second, of 200 log-normal ones each. factor: by
    which the first is slower."""
    own = np.exp(rng.normal(0, scatter, clients))
    own[0] *= factor
    mean_ns = 2e6 * own[:, None] * np.exp(rng.normal(0, 1.0, (clients, seconds, 200))).mean(axis=2)
    return [each.client for each in behind_in_response(np.full((clients, seconds), 200.0), mean_ns)]


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--runs", type=int, default=SIMULATIONS)
    runs = p.parse_args().runs
    rng = np.random.default_rng(1)
    for tenths, per_tenth in ((10, 1.0), (10, 100.0), (30, 5.0), (30, 100.0), (100, 100.0)):
        for scatter in (0.0, 0.02, 0.05, 0.1):
            words = ", ".join(f"{n}: {share_false(rng, runs, n, tenths, per_tenth, scatter):.1%}" for n in CLIENTS)
            print(
                f"equal, {tenths / 10:g} s, {10 * per_tenth:g}/s each, scatter {scatter:.0%}; false by clients: {words}"
            )
        for scatter in (0.0, 0.05):
            one = ", ".join(f"{n}: {share_found(rng, runs, n, tenths, per_tenth, scatter, 1):.1%}" for n in CLIENTS)
            half = ", ".join(
                f"{n}: {share_found(rng, runs, n, tenths, per_tenth, scatter, n // 2):.1%}" for n in CLIENTS
            )
            print(f"  one at half the CPU, scatter {scatter:.0%}; found: {one}")
            print(f"  half of them at half the CPU, scatter {scatter:.0%}; found: {half}")
    for seconds in (3, 10, 30):
        false = ", ".join(
            f"{n}: {np.mean([bool(answered(rng, n, seconds, 0.05)) for _ in range(runs)]):.1%}" for n in CLIENTS
        )
        found = ", ".join(
            f"{n}: {np.mean([answered(rng, n, seconds, 0.05, 2.0) == [0] for _ in range(runs)]):.1%}" for n in CLIENTS
        )
        print(f"open loop, {seconds} s; false, by clients: {false}; twice the response time found: {found}")


if __name__ == "__main__":
    main()
