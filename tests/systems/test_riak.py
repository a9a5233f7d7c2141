"""Riak's control plane against exchanges that are written down from Riak KV's documentation ("HTTP API Reference"):
there is no Riak to test on. Those of the driver are in crates/drivers/tests/drivers/riak.rs."""

from __future__ import annotations

import json
import os
import socket
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, cast

import pytest
from bakeoff.cli import main
from bakeoff.errors import PlanError, ServerError
from bakeoff.systems.lease import LEASE_S
from bakeoff.systems.riak.ledger import RiakLedger
from bakeoff.systems.riak.system import Riak
from bakeoff.systems.server.system import TRANSACTIONS
from builders.exchanges import Exchange, replaying
from builders.systems import configured, node_of
from commands import bakeoff, write_plan
from rust_tests import needs_cargo, run_driver_tests

DATE = "Fri, 30 Sep 2011 15:24:35 GMT"
NOW_S = parsedate_to_datetime(DATE).timestamp()
CLOCK = "a85hYGBgzGDKBVIsbLvm1WYwJTLmsTLcjeE5ypcFAA=="
JSON = {"Content-Type": "application/json", "Date": DATE, "Server": "MochiWeb/1.1 WebMachine/1.9.0"}
LEDGER = "/buckets/x_bakeoff_tables"
CLAIM = f"{LEDGER}/keys/~claim"
MARK = "/buckets/x_usertable/keys/~bakeoff"
ENTRY = f"{LEDGER}/keys/usertable"
KEYS = "/buckets/x_usertable/keys?keys=true"
PROPERTIES = {"name": "test", "n_val": 3, "allow_mult": False, "last_write_wins": False, "r": "quorum", "w": "quorum"}


def shown(asked: str, fields: Mapping[str, str], body: str) -> str:
    own = [f"{name}: {fields[name]}" for name in ("X-Riak-Vclock", "If-None-Match", "Authorization") if name in fields]
    return " | ".join([asked, *own, *([body] if body else [])])


def found(asked: str, value: Any, **fields: str) -> Exchange:
    return Exchange(f"GET {asked}", 200, json.dumps(value), {**JSON, "X-Riak-Vclock": CLOCK, **fields})


def absent(asked: str) -> Exchange:
    return Exchange(f"GET {asked}", 404, "not found\n", {"Content-Type": "text/plain", "Date": DATE})


def stored(asked: str, condition: str, value: str) -> Exchange:
    return Exchange(f"PUT {asked} | {condition} | {value}", 204, "", JSON)


def deleted(asked: str) -> Exchange:
    return Exchange(f"DELETE {asked}", 204, "", {"Date": DATE})


NEW, OVER = "If-None-Match: *", f"X-Riak-Vclock: {CLOCK}"
PING = Exchange("GET /ping", 200, "OK", {"Content-Type": "text/html", "Date": DATE})
PROPS = found(f"{LEDGER}/props", {"props": PROPERTIES})
HELD = {"holder": f"pid {os.getpid()} on {socket.gethostname()}, 1", "until": NOW_S + LEASE_S}
CLAIMED = (absent(CLAIM), stored(CLAIM, NEW, json.dumps(HELD)), found(CLAIM, HELD))
LEFT = (found(CLAIM, HELD), deleted(CLAIM))
BEFORE = (PING, PROPS, PING)


@pytest.fixture(autouse=True)
def holder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that is written down."""
    monkeypatch.setattr(uuid, "uuid4", lambda: 1)


@contextmanager
def riak(exchanges: Sequence[Exchange], **options: Any) -> Iterator[Riak]:
    with replaying(exchanges, shown) as address:
        system = configured("riak", Path("/"), {"address": address, "prefix": "x_", **options})
        try:
            yield cast(Riak, system)
        finally:
            system.stop()


# -- what it says of itself -------------------------------------------------------------------------------------------


def test_facts_are_what_statistics_and_properties_say() -> None:
    stats = {
        "node_gets_total": 5,
        "node_puts_total": 7,
        "read_repairs_total": 1,
        "riak_kv_version": "2.9.10",
        "storage_backend": "riak_kv_bitcask_backend",
        "ring_num_partitions": 64,
        "ring_members": ["dev1@127.0.0.1", "dev2@127.0.0.1", "dev3@127.0.0.1"],
    }
    with riak([found("/stats", stats), PROPS, found("/stats", stats)]) as system:
        facts = node_of(system).facts()
        counters = node_of(system).counters()
    assert (facts.product, facts.version) == ("Riak", "2.9.10")
    assert facts.settings["storage_backend"] == "riak_kv_bitcask_backend"
    assert (facts.settings["nodes"], facts.settings["n_val"], facts.settings["allow_mult"]) == ("3", "3", "False")
    assert "does not say" in facts.portable["durability"]
    assert counters == {
        "riak.node_gets_total": 5,
        "riak.node_puts_total": 7,
        "riak.read_repairs_total": 1,
        TRANSACTIONS: 12,
    }


def test_a_node_without_statistics_has_no_version() -> None:
    none = Exchange("GET /stats", 404, "<html>", {"Content-Type": "text/html"})
    with riak([none, PROPS, none]) as system:
        assert node_of(system).facts().version == "unknown"
        assert node_of(system).counters() == {}


def test_who_is_not_let_in_is_none_or_lacks_a_bucket_type_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIAK_PASSWORD", "secret")
    ping = f"{PING.asked} | Authorization: Basic YmVuY2g6c2VjcmV0"
    account = {"user": "bench", "password": {"env": "RIAK_PASSWORD"}}
    with (
        riak([Exchange(ping, 401, "", {})], **account) as system,
        pytest.raises(ServerError, match="refused user 'bench'"),
    ):
        system.start()
    with (
        riak([Exchange("GET /ping", 200, "hello", {})]) as system,
        pytest.raises(ServerError, match="no Riak answers a ping like this"),
    ):
        system.start()
    props = Exchange("GET /types/fast/buckets/x_bakeoff_tables/props", 404, "Unknown bucket type: fast", {})
    with (
        riak([PING, props], bucket_type="fast") as system,
        pytest.raises(ServerError, match="Unknown bucket type: fast"),
    ):
        system.start()
    with pytest.raises(PlanError, match=r"prefix = 'a/\.\./b' is no such name"):
        configured("riak", Path("/"), {"address": "127.0.0.1:1", "prefix": "a/../b"})
    with pytest.raises(ServerError, match=r"could not connect to 127\.0\.0\.1:1"):
        configured("riak", Path("/"), {"address": "127.0.0.1:1"}).start()


# -- what bakeoff made there ------------------------------------------------------------------------------------------


def test_a_claim_is_taken_and_given_up() -> None:
    with riak([*BEFORE, *CLAIMED, *LEFT]) as system:
        system.start()


def test_two_do_not_work_under_one_prefix() -> None:
    """Also where both have written before either has read: each finds both values."""
    other = {"holder": "pid 1 on db2", "until": NOW_S + 5}
    with (
        riak([*BEFORE, found(CLAIM, other)]) as system,
        pytest.raises(ServerError, match=r"another bakeoff run \(pid 1 on db2\) is using"),
    ):
        system.start()
    faster = Exchange(CLAIMED[1].asked, 412, "", {"Date": DATE})
    with (
        riak([*BEFORE, absent(CLAIM), faster, found(CLAIM, other)]) as system,
        pytest.raises(ServerError, match="pid 1 on db2"),
    ):
        system.start()
    parts = "".join(
        f"\r\n--YinLMzyUR9feB17okMytgKsylvh\r\nContent-Type: application/json\r\n{more}\r\n{json.dumps(value)}"
        for more, value in (("", HELD), ("", other), ("X-Riak-Deleted: true\r\n", {}))
    )
    both = Exchange(
        f"GET {CLAIM}",
        300,
        f"{parts}\r\n--YinLMzyUR9feB17okMytgKsylvh--\r\n",
        {
            "Content-Type": "multipart/mixed; boundary=YinLMzyUR9feB17okMytgKsylvh",
            "Date": DATE,
            "X-Riak-Vclock": CLOCK,
        },
    )
    with (
        riak([*BEFORE, *CLAIMED[:2], both]) as system,
        pytest.raises(ServerError, match="pid 1 on db2"),
    ):
        system.start()


def test_a_claim_that_was_not_renewed_is_taken_over_at_its_version() -> None:
    killed = found(CLAIM, {"holder": "pid 1 on db2", "until": NOW_S - 1})
    mine = (stored(CLAIM, OVER, json.dumps(HELD)), found(CLAIM, HELD))
    with riak([*BEFORE, killed, *mine, *LEFT]) as system:
        system.start()


def test_a_claim_that_cannot_be_read_has_ended() -> None:
    odd = found(CLAIM, {"holder": "pid 1 on db2", "until": "soon"})
    with riak([*BEFORE, odd, stored(CLAIM, OVER, json.dumps(HELD)), found(CLAIM, HELD), *LEFT]) as system:
        system.start()


def ledger_of(system: Riak) -> RiakLedger:
    """Without a claim."""
    return cast(RiakLedger, system.ledger())


def entry(mark: str, *, loaded: bool) -> dict[str, Any]:
    return {"dataset": "data", "bundle": "bundle", "loaded": loaded, "mark": mark}


def test_a_bucket_with_objects_and_without_the_mark_is_somebody_elses() -> None:
    script = [
        absent(MARK),
        found(KEYS, {"keys": ["gone", "a b"]}),
        absent("/buckets/x_usertable/keys/gone"),
        found("/buckets/x_usertable/keys/a%20b", {}),
        absent(ENTRY),
        # Objects that were just deleted are listed and are no objects.
        absent(MARK),
        found(KEYS, {"keys": ["gone"]}),
        absent("/buckets/x_usertable/keys/gone"),
    ]
    with riak(script) as system:
        assert ledger_of(system).strangers(["usertable"]) == ["usertable"]
        assert ledger_of(system).there(["usertable"]) == []


def test_what_is_loaded_is_recorded_with_its_mark_and_another_mark_is_another_bucket() -> None:
    mark = found(MARK, {"made": "m1"})
    begun, whole = entry("", loaded=False), entry("m1", loaded=True)
    script = [
        # begin: there is nothing
        *(absent(MARK), found(KEYS, {"keys": []})),
        *(absent(MARK), found(KEYS, {"keys": []})),
        *(absent(ENTRY), stored(ENTRY, NEW, json.dumps(begun))),
        # while it is loaded
        *(mark, found(ENTRY, begun)),
        # loaded
        *(mark, found(ENTRY, begun), found(ENTRY, begun), stored(ENTRY, OVER, json.dumps(whole))),
        *(mark, found(ENTRY, whole)),
        # somebody has made one of that name since
        *(found(MARK, {"made": "m2"}), found(ENTRY, whole)),
    ]
    with riak(script) as system:
        ledger = ledger_of(system)
        ledger.begin(["usertable"], "data", "bundle")
        (one,) = ledger.there(["usertable"])
        assert (one.ours, one.whole) == (True, False)
        ledger.loaded(["usertable"])
        (one,) = ledger.there(["usertable"])
        assert (one.ours, one.whole, one.dataset) == (True, True, "data")
        assert ledger.strangers(["usertable"]) == ["usertable"]


def test_a_bucket_is_dropped_object_by_object_its_mark_last() -> None:
    ours = (found(MARK, {"made": "m1"}), found(ENTRY, entry("m1", loaded=True)))
    script = [
        *ours,
        found(MARK, {"made": "m1"}),
        found(KEYS, {"keys": ["~bakeoff", "k1", "k 2"]}),
        deleted("/buckets/x_usertable/keys/k1"),
        Exchange("DELETE /buckets/x_usertable/keys/k%202", 404, "not found\n", {"Date": DATE}),
        deleted(MARK),
        found(KEYS, {"keys": ["~bakeoff"]}),
        found(KEYS, {"keys": []}),
        deleted(ENTRY),
    ]
    with riak(script) as system:
        ledger_of(system).drop(["usertable"])


# -- plans ------------------------------------------------------------------------------------------------------------


def test_without_an_address_nothing_is_started(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="bakeoff starts no Riak"):
        configured("riak", tmp_path, {})


def test_portable_names_of_consistency_are_options_of_the_driver() -> None:
    assert Riak.consistency.keys() == {"quorum", "eventual"}
    for said in Riak.consistency.values():
        configured("riak", Path("/"), {"address": "127.0.0.1:1", **said})


def test_the_driver_gets_what_the_plan_says() -> None:
    options = {"address": "127.0.0.1:1", "bucket_type": "fast", "prefix": "x_", "r": "quorum", "dw": "all"}
    driver, _ = configured("riak", Path("/"), options).engine_driver()
    assert (driver["kind"], driver["user"], driver["password"]) == ("riak", None, None)
    assert (driver["r"], driver["dw"], driver["w"]) == ("quorum", "all", None)
    assert driver["endpoints"] == [{"name": "server", "role": "primary", "address": "127.0.0.1:1"}]


PLAN = """
title = "By address"

[systems.riak]
address = "127.0.0.1:1"
prefix = "x_"
{option}

[workload]
kind = "ycsb"
preset = "{preset}"
records = 100

[measure]
threads = 1
warm_up = 0
operations = 100
repetitions = 1
reset = "reload"
"""


@pytest.mark.parametrize(
    ("preset", "option", "code", "words"),
    [
        ("a", 'consistency = "quorum"', 3, "could not connect"),
        ("e", "secondary_indexes = true", 3, "could not connect"),
        ("e", "", 2, "riak"),
        ("a", 'consistency = "strong"', 2, "riak has no consistency strong"),
        ("a", 'durability = "full"', 2, "riak"),
        ("a", 'bucket_type = "a b"', 2, "bucket_type = 'a b' is no such name"),
    ],
)
def test_what_it_has_not_is_refused_before_anything_starts(
    preset: str, option: str, code: int, words: str, tmp_path: Path
) -> None:
    plan = write_plan(tmp_path, PLAN.format(preset=preset, option=option))
    done = bakeoff("run", plan, "--dry-run", cwd=tmp_path)
    assert done.code == code, done.out + done.err
    assert words in done.err


@needs_cargo
def test_the_drivers_own_tests_pass() -> None:
    assert run_driver_tests(("riak",), {}, of="riak") == []


def test_it_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["systems"]) == 0
    assert "Riak KV: existing by `address`" in capsys.readouterr().out
