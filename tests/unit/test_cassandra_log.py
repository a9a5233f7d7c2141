"""What a Cassandra that did not start says, as one sentence."""

from __future__ import annotations

import pytest
from bakeoff.errors import BakeoffError, PlanError, ServerError
from bakeoff.provision.server import PortTaken
from bakeoff.systems.cassandra.process import explain_failed_start

UNKNOWN = """Exception (ConfigurationException) encountered during startup: Invalid yaml.
Please remove properties [concurent_writes] from your cassandra.yaml
"""
BAD_VALUE = """Caused by: Cannot create property=commitlog_sync for JavaBean=org.apache.cassandra.config.Config@76b1e9b8
 in 'reader', line 1, column 1:
    commitlog_sync: sometimes
    ^
Unable to find enum value 'sometimes' for enum class: org.apache.cassandra.config.Config$CommitLogSync
 in 'reader', line 1, column 17:
"""
REFUSED = "ERROR 2026-11-22 16:01:26,874 Exception encountered during startup: {} must be positive, but was 0MiB\n"


def explained(log: str) -> BakeoffError:
    settings = {"commitlog_segment_size"}
    return explain_failed_start(log, "exit code 3", where="systems.c", ports=(9042, 7000), settings=settings)


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (UNKNOWN, "the server does not know the setting 'concurent_writes'"),
        (BAD_VALUE, "the server does not take the setting commitlog_sync: Unable to find enum value 'sometimes'"),
        (
            REFUSED.format("commitlog_segment_size"),
            "the server does not take its settings: commitlog_segment_size must be positive, but was 0MiB",
        ),
    ],
)
def test_a_setting_that_it_does_not_take_is_named(log: str, said: str) -> None:
    error = explained(log)
    assert (type(error), error.what, error.where) == (PlanError, said, "systems.c.start.settings")


def test_what_no_setting_of_the_plan_has_caused_is_reported_as_it_is() -> None:
    error = explained(REFUSED.format("its luck"))
    assert error.what.startswith("the server did not start (exit code 3): Exception encountered during startup")


@pytest.mark.parametrize(
    ("log", "port"),
    [
        ("java.lang.RuntimeException: /127.0.0.1:7000 is in use by another process.  Change listen_address", 7000),
        ("Failed to bind port 9042 on 127.0.0.1.\njava.net.BindException: Address already in use", 9042),
    ],
)
def test_the_port_that_is_taken_is_named(log: str, port: int) -> None:
    error = explained(log)
    assert isinstance(error, PortTaken)
    assert f"port {port} is used" in error.what


def test_too_little_memory_is_reported_with_what_to_lower() -> None:
    error = explained(
        "Error: Could not create the Java Virtual Machine.\nError occurred: Could not reserve enough space"
    )
    assert (type(error), error.hint) == (ServerError, "lower `heap`, or `nodes`")
