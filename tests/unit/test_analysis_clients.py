"""What is said of a run's clients side by side."""

from __future__ import annotations

from typing import Any

import pytest
from bakeoff.analysis.validity.checks import findings
from bakeoff.analysis.validity.slow_clients import behind_words as words_of
from bakeoff.analysis.validity.slow_clients import crowded_words, least_known_clock, signs, slower, without_behind
from bakeoff.model.boundary import HistogramDoc
from bakeoff.model.clients import THIS_MACHINE, ClientRecord
from bakeoff.model.records.run import Validity

from tests.builders.judged import judged


def client(number: int, machine: str = "load1", rate: float = 100.0, **other: Any) -> ClientRecord:
    fields: dict[str, Any] = {"cores": 4, "ok": 1000, **other}
    return ClientRecord(number=number, machine=machine, rate_ops_per_s=rate, headline=HistogramDoc.empty(), **fields)


def behind_words(clients: list[ClientRecord]) -> str:
    return words_of(clients, server_is_here=False)


HALF = "50 % of the throughput of the others"


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ({"workers_busy_ratio": [0.2, 0.97]}, "a worker worked 97 % of the window"),
        (
            {"workers_busy_ratio": [0.5], "workers_run_queue_delay_ratio": [0.48]},
            "a worker had work but no core for 48 % of the window",
        ),
        ({"steal_ratio": 0.12}, "12 % of its machine's CPU time was taken by the hypervisor"),
        ({"server_round_trip_ns": {"n1": 5_100_000}}, "5.10 ms to the server and back, the others 200 µs"),
        ({"start_late_ns": 1_200_000_000}, "it began 1.20 s late"),
        ({"errors": {"unknown": 250}}, "20 % of its operations did not end ok"),
    ],
)
def test_what_may_have_made_a_client_slower_is_said(own: dict[str, Any], words: str) -> None:
    others = [client(n, server_round_trip_ns={"n1": 200_000}, workers_run_queue_delay_ratio=[0.02]) for n in (1, 2)]
    assert signs(client(0, **own), others) == [words]


def test_what_the_others_have_too_is_no_reason() -> None:
    same = {"steal_ratio": 0.1, "workers_run_queue_delay_ratio": [0.3], "server_round_trip_ns": {"n1": 5_000_000}}
    assert signs(client(0, **same), [client(n, **same) for n in (1, 2)]) == []
    assert signs(client(0), []) == []


def test_the_one_that_was_slower_is_named_with_what_all_would_have_had_without_it() -> None:
    found = [client(n, rate=10_000.0) for n in range(5)]
    found.append(client(5, "load2", rate=5_000.0, behind=HALF, signs=["a worker worked 97 % of the window"]))
    assert behind_words(found) == (
        "client 5 on load2 was slower than the other 5 (50 % of the throughput of the others; a worker worked"
        " 97 % of the"
        " window); at the throughput of the others this run's 55,000/s would be at most 60,000/s, 9.1 % more"
    )
    assert without_behind(found) == 60_000.0
    assert behind_words(found[:5]) == ""


def test_of_many_that_were_slower_the_machines_are_named() -> None:
    found = [
        client(n, f"load{n // 10}", rate=50.0 if n >= 25 else 100.0, behind=HALF if n >= 25 else "") for n in range(50)
    ]
    assert "25 of 50 clients were slower than the others: 5 of 10 on load2, all 10 on load3, all 10 on load4" in (
        behind_words(found)
    )
    two = [client(n, "load1", rate=50.0 if n < 2 else 100.0, behind=HALF if n < 2 else "") for n in range(6)]
    assert behind_words(two).startswith(
        "2 of 6 clients were slower than the others: client 0 on load1, client 1 on load1 (the slowest, client 0"
    )


def test_what_all_would_have_had_is_said_of_machines_that_slower_clients_share_with_nobody() -> None:
    def told(machines: str, *, server_is_here: bool) -> str:
        slow = {"rate": 50.0, "behind": HALF}
        first, *others = machines.split()
        clients = [client(0, first, **slow), *(client(n, machine) for n, machine in enumerate(others, 1))]
        clients = [one.model_copy(update={"machine": one.machine.replace("here", THIS_MACHINE)}) for one in clients]
        return words_of(clients, server_is_here=server_is_here, whose="block 2's")

    could = "; at the throughput of the others block 2's 250/s would be at most 300/s, 20 % more"
    assert told("load1 load2 load2", server_is_here=True).endswith(could)
    assert told("here load2 load2", server_is_here=False).endswith(could)
    for machines, here in (("load1 load1 load2", False), ("here load2 load2", True), ("here here here", False)):
        assert told(machines, server_is_here=here).endswith(f"({HALF})")


def test_where_most_were_slower_it_is_the_rest_that_were_faster() -> None:
    behind = {"rate": 50.0, "behind": HALF, "signs": ["a worker worked 97 % of the window"]}
    found = [client(0), client(1, "load2", **behind), client(2, "load3", **behind)]
    assert behind_words(found) == (
        "client 0 on load1 was faster than the other 2 (the slowest, client 1 on load2: 50 % of the throughput"
        " of the others;"
        " a worker worked 97 % of the window)"
    )
    assert slower(found) == []
    assert behind_words([client(0), client(1, **behind)]).startswith("client 1 on load1 was slower than the other (")


def test_a_load_machine_that_is_this_one_has_both_names() -> None:
    assert client(2, THIS_MACHINE, load_machine="load3").words == "client 2 on load3 (this machine)"
    assert client(2, THIS_MACHINE).words == "client 2"


def test_clients_slower_in_their_answers_alone_cost_no_rate() -> None:
    found = [client(0), client(1, behind="4.0 times the mean response time of the others")]
    assert behind_words(found).endswith("(4.0 times the mean response time of the others)")
    assert "the other (4.0 times" in behind_words(found)


def test_a_machine_whose_clients_waited_for_its_few_cores_is_named() -> None:
    waited = {"cores": 2, "workers_run_queue_delay_ratio": [0.34], "workers_busy_ratio": [0.3]}
    assert crowded_words([client(n, "load1", **waited) for n in range(2)]) == ""
    crowd = [client(n, "load1", cores=2) for n in range(3)] + [client(n, "load2", **waited) for n in range(3, 8)]
    assert crowded_words(crowd) == (
        "5 clients kept 75 % of 2 cores of load2 busy, and a worker had work but no core for 34 % of the window"
    )
    assert crowded_words(crowd[:3]) == "", "each had a core when it needed one"
    idle = [client(n, "load2", **waited | {"workers_busy_ratio": [0.05]}) for n in range(5)]
    assert crowded_words(idle) == "", "it is something else that had the cores"
    assert crowded_words([client(0, **waited | {"cores": None})]) == ""


def test_the_clock_that_is_known_least_is_found() -> None:
    far = client(1, "load2", clock_bound_ns=14_000_000)
    assert least_known_clock([client(0, clock_bound_ns=90_000), far]) is far
    assert least_known_clock([client(0)]) is None


def told(*clients: ClientRecord) -> dict[str, Validity]:
    """By name."""
    return {each.name: each for each in findings(judged(clients=list(clients)))}


def test_a_clock_known_to_more_than_ten_milliseconds_is_a_finding() -> None:
    assert "clocks" not in told()
    known = told(client(0, "load1", clock_bound_ns=400_000))["clocks"]
    assert (known.ok, known.words) == (True, "the clock of load1 is known to within 400 µs (bound 10.0 ms)")
    unknown = told(client(0, "load2", clock_bound_ns=14_000_000))["clocks"]
    assert (unknown.ok, unknown.severity) == (False, "warning")
    assert "tenths" not in unknown.words
    worse = told(client(0, "load2", clock_bound_ns=140_000_000))["clocks"]
    assert worse.words.endswith("tenths of a second cannot be distinguished, and are not kept")


def test_clients_side_by_side_are_a_finding_where_there_are_several() -> None:
    assert "clients" not in told(client(0))
    assert told(client(0), client(1))["clients"].ok
    slow = told(client(0), client(1, behind=HALF))["clients"]
    assert (slow.ok, slow.severity) == (False, "warning")
    assert slow.words.startswith("client 1 on load1 was slower than the other (")
    crowd = {"cores": 2, "workers_run_queue_delay_ratio": [0.34], "workers_busy_ratio": [0.3]}
    assert told(*(client(n, **crowd) for n in range(5)))["clients to a core"].severity == "warning"
