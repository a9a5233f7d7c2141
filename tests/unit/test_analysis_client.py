"""Was the client the limit? Figures as runs whose answer is known gave them (benches/verdict.py)."""

from dataclasses import replace

import pytest
from bakeoff.analysis.validity.client_limit import ClientNumbers, WorkerNumbers, cpu_share, signs

#: MariaDB and client on the same two cores, 64 sessions: the worker is never done, and the server has the cores.
CROWDED = ClientNumbers(
    workers=[WorkerNumbers(busy_ratio=0.34, run_queue_delay_ratio=0.65)],
    shares_cores=True,
    idle_ratio=0.0,
    client_cpu_s=0.70,
    server_cpu_s=2.70,
)
#: The same with one session: the worker waits for most of the answers.
ONE_SESSION = replace(CROWDED, workers=[WorkerNumbers(0.35, 0.06)], idle_ratio=0.03, server_cpu_s=1.19)


@pytest.mark.parametrize("numbers", [CROWDED, ONE_SESSION, replace(ONE_SESSION, shares_cores=False)])
def test_a_server_that_takes_the_cores_or_is_waited_for_is_the_limit_and_not_the_client(numbers: ClientNumbers) -> None:
    assert signs(numbers) == []


def test_on_cores_of_its_own_a_worker_that_never_waits_is_the_limit() -> None:
    found = signs(replace(CROWDED, shares_cores=False))
    assert found == ["a worker worked 34 % of the window and had work but no core for 65 %"]


def test_on_cores_of_its_own_nothing_of_the_system_keeps_a_worker_from_its_core() -> None:
    """A limit of CPU time lets the server catch up in the rest of each period, so the worker does wait for answers."""
    held_back = replace(CROWDED, shares_cores=False, workers=[WorkerNumbers(0.08, 0.68)])
    assert len(signs(held_back)) == 1
    assert signs(replace(held_back, workers=[WorkerNumbers(0.35, 0.05)])) == []


def test_a_worker_that_works_all_the_time_is_the_limit_wherever_it_runs() -> None:
    found = signs(replace(CROWDED, workers=[WorkerNumbers(0.1, 0.0), WorkerNumbers(0.97, 0.0)]))
    assert found == ["a worker worked 97 % of the window"]


def test_a_worker_without_a_core_while_cores_lie_idle_is_held_back_by_something_else_than_the_server() -> None:
    held_back = replace(CROWDED, workers=[WorkerNumbers(0.1, 0.89)], idle_ratio=0.7, client_cpu_s=0.2)
    [words] = signs(held_back)
    assert words.endswith("while 70 % of the time of the cores lay idle (bound 20 %)")


def test_a_worker_that_waits_for_answers_on_shared_cores_is_none_though_others_and_nobody_have_them_in_turn() -> None:
    """Two users on the server's cores: each wakes the other side, and the kernel moves both about."""
    two_users = replace(CROWDED, workers=[WorkerNumbers(0.487, 0.355)], idle_ratio=0.27)
    assert signs(two_users) == []


def test_a_client_that_takes_much_of_what_both_use_is_the_limit_of_full_cores() -> None:
    [words] = signs(replace(CROWDED, client_cpu_s=3.0, server_cpu_s=1.0))
    assert words.endswith("and the client took 75 % of the CPU time of both (bound 50 %)")


def test_of_a_server_that_was_not_watched_only_what_is_sure_is_said() -> None:
    assert signs(replace(CROWDED, server_cpu_s=None)) == []
    assert cpu_share(1.0, None) is None
    assert cpu_share(0.0, 0.0) is None
    assert cpu_share(1.0, 3.0) == 0.25


def test_an_embedded_engine_is_judged_by_what_its_threads_do_besides_it() -> None:
    embedded = ClientNumbers(shares_cores=True, idle_ratio=0.0, client_cpu_s=4.0, harness_ratio=0.05)
    assert signs(embedded) == []
    assert signs(replace(embedded, harness_ratio=0.5)) == [
        "its threads spent 50 % of the window outside of operations (bound 10 %)"
    ]
    assert signs(replace(embedded, harness_ratio=0.5, others_ratio=0.05))
    assert signs(replace(embedded, harness_ratio=0.5, others_ratio=0.92)) == [], "others had the cores"
