"""Bundles in a bucket by the S3 protocol: s3fs against moto's server, each command in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import pytest
from bakeoff.systems.simpledb.moto import SOURCES, MotoSimpleDb
from builders.bundles import Story, write_bundle
from builders.systems import fetched, running

ADDRESS = "s3://bench/nightly"
TINY = Story(threads=(1,), presets=("a",), repetitions=2, window_s=2, warm_up_s=1, title="Tiny")
SECRET = "nobodys-secret-key"


@pytest.fixture(scope="module")
def s3fs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of Python packages: apart, because botocore wants an older python-dateutil than kubernetes."""
    folder = tmp_path_factory.mktemp("packages")
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-warn-conflicts", "--target", str(folder), "s3fs"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"s3fs cannot be installed: {done.stderr.strip()[-200:]}")
    return folder


@pytest.fixture(scope="module")
def environment(s3fs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    if lacking := SOURCES.source("pypi").lacks():
        pytest.skip(f"moto, the S3 server, cannot be installed: {lacking}")
    fetched(SOURCES, "5.2")
    with running("moto-simpledb", {"start": {}}) as system:
        (server,) = cast(MotoSimpleDb, system).servers().values()
        yield {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(s3fs), os.environ.get("PYTHONPATH", "")]),
            "BAKEOFF_CACHE": str(tmp_path_factory.mktemp("cache")),
            "AWS_ENDPOINT_URL": f"http://{server.host}:{server.port}",
            "AWS_ACCESS_KEY_ID": "nobodys-key",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1",
        }


def python(environment: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, check=False)
    assert SECRET not in done.stdout + done.stderr
    return done


def bakeoff(environment: Mapping[str, str], *words: object) -> subprocess.CompletedProcess[str]:
    return python(environment, "-m", "bakeoff", *map(str, words))


def test_bundles_are_pushed_listed_and_tracked_in_a_bucket(environment: Mapping[str, str], tmp_path: Path) -> None:
    tiny = write_bundle(tmp_path / "tiny-1", TINY).folder
    next((tiny / "runs").iterdir()).joinpath("engine.log").write_bytes(b"")
    shutil.copytree(tiny, tmp_path / "tiny-2")
    make = "import s3fs; s3fs.S3FileSystem().mkdir('bench')"
    refused = bakeoff(environment, "bundles", "push", tiny, ADDRESS)
    assert refused.returncode == 2, refused.stderr
    assert "there is no such bucket" in refused.stderr
    assert python(environment, "-c", make).returncode == 0
    done = bakeoff(environment, "bundles", "push", tiny, tmp_path / "tiny-2", ADDRESS, "--json")
    assert done.returncode == 0, done.stderr
    assert all(one["files"] > 10 for one in json.loads(done.stdout)["pushed"])
    done = bakeoff(environment, "track", "--results", ADDRESS)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Tiny: 2 bundles")
    again = bakeoff(environment, "bundles", "push", tiny, ADDRESS, "--json")
    assert json.loads(again.stdout)["pushed"] == [{"bundle": "tiny-1", "files": 0, "bytes": 0}]
    plan = (tiny / "plan.json").read_bytes()
    alter = f"import s3fs; s3fs.S3FileSystem().pipe_file('bench/nightly/tiny-1/plan.json', {plan[::-1]!r})"
    assert python(environment, "-c", alter).returncode == 0
    done = bakeoff(environment, "bundles", "list", "--results", ADDRESS)
    assert "tiny-1 is left out: plan.json does not match its checksum" in done.stderr
    again = bakeoff(environment, "bundles", "push", tiny, ADDRESS, "--json")
    assert json.loads(again.stdout)["pushed"] == [{"bundle": "tiny-1", "files": 1, "bytes": len(plan)}]

    alter = "import s3fs; s3fs.S3FileSystem().pipe_file('bench/nightly/tiny-2/plan.json', b'{}')"
    assert python(environment, "-c", alter).returncode == 0
    done = bakeoff(environment, "bundles", "list", "--results", ADDRESS, "--json")
    assert [one["name"] for one in json.loads(done.stdout)["bundles"]] == ["tiny-1"]
    assert "tiny-2 is left out: plan.json does not match its checksum" in done.stderr
