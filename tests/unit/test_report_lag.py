"""How far replicas were behind: two metrics, a sentence of the headline, and the first panel beneath the load."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from bakeoff.analysis.histograms import Histogram, to_document
from bakeoff.analysis.metric import Observed
from bakeoff.analysis.registry import metric
from bakeoff.bundle.read import Bundle
from bakeoff.findings.run_values import observed
from bakeoff.model.boundary import NodeResult
from bakeoff.model.records.run import NodeSilence, RunRecord
from bakeoff.report.answer import answer_of
from bakeoff.report.charts.scales import Series
from bakeoff.report.charts.server import metrics_of
from builders.bundles import MARIADB, Story, write_bundle

GROWING = {"replica1": [0.5, 1.0, 1.5, 2.0, 2.5, 3.0], "replica2": [0.4, 2.0, 3.0, 4.0, 5.0, 6.1]}
RUN = RunRecord(id="r", block=1, cell="c", order=0, started="", state="done", seed=1)


def bundle(
    folder: Path,
    lags_s: dict[str, list[float]],
    monkeypatch: pytest.MonkeyPatch,
    *,
    reads_there: bool = False,
    away: tuple[str, ...] = (),
) -> Bundle:
    names = ["primary", *lags_s]
    times = to_document(Histogram.empty())

    def settled(run: RunRecord) -> RunRecord:
        served = names[-1] if reads_there else "primary"
        nodes = [
            NodeResult(
                name=name,
                role="primary" if name == "primary" else "replica",
                operations=run.ok if name == served else 0,
                outcomes={"ok": run.ok} if name == served else {},
                response=run.headline if name == served else times,
                reconnects=0,
            )
            for name in names
        ]
        silences = [NodeSilence(node=name, from_s=2.0, to_s=4.0, planned=True) for name in away]
        return run.model_copy(update={"nodes": nodes if lags_s else [], "silences": silences})

    story = Story(
        contenders=(MARIADB,),
        threads=(4,),
        presets=("a",),
        repetitions=1,
        window_s=6,
        warm_up_s=1,
        nodes=names if lags_s else (),
        change=settled,
    )
    made = write_bundle(folder, story)
    seconds = np.arange(7, dtype=np.float64)
    columns = {f"db.{name}.lag_s": [99.0, *values] for name, values in lags_s.items()}  # the warm-up is left out
    table = pa.table({"second": seconds, "length_s": np.ones(7), **columns})
    monkeypatch.setattr(Bundle, "server", lambda _, run, pick: table.select(pick(table.column_names)))
    return made


def said(made: Bundle) -> list[str]:
    return [words for words in answer_of(made).headline if "behind" in words]


def test_a_lag_that_grows_is_reported_at_its_end_and_makes_reads_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = bundle(tmp_path / "b", GROWING, monkeypatch, reads_there=True)
    assert said(made) == [
        "mariadb: replica2 was 6.1 s behind at the end, and still falling behind; reads there were that stale."
    ]
    seen = observed(made, made.runs[0])
    assert metric("lag_s_max").of(seen) == metric("lag_s_end").of(seen) == 6.1
    assert metric("lag_s_end").words(6.1) == "6.10 s"


def test_a_lag_that_was_caught_up_is_no_lag_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = bundle(tmp_path / "b", {"replica1": [0.1, 2.0, 4.0, 2.0, 1.0, 0.0]}, monkeypatch)
    assert said(made) == ["mariadb: replicas were up to 4 s behind, and not at the end."]
    seen = observed(made, made.runs[0])
    assert (metric("lag_s_max").of(seen), metric("lag_s_end").of(seen)) == (4.0, 0.0)


def test_a_level_replica_is_said_to_be_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(bundle(tmp_path / "b", {"replica1": [0.1, 0.2, 0.1, 0.0, 0.1, 0.1]}, monkeypatch)) == [
        "mariadb: no replica was more than 0.2 s behind."
    ]


def test_of_a_replica_that_was_away_nothing_is_known_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lags_s = {"replica1": [0.1, 0.2, 0.1, 0.0, 0.1, 0.1], "replica2": [0.1] * 6}
    assert said(bundle(tmp_path / "b", lags_s, monkeypatch, away=("replica1", "primary"))) == [
        "mariadb: no replica was more than 0.2 s behind while it answered; replica1 did not always answer."
    ]


def test_without_replicas_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(bundle(tmp_path / "b", {}, monkeypatch)) == []
    assert metric("lag_s_max").of(Observed(RUN)) is None


def test_lag_is_the_first_panel_beneath_the_load() -> None:
    part = Series.of(np.arange(3.0), np.array([1.0, 2.0, 3.0]))
    watched = {"os.primary.rss_bytes": part, "db.replica1.lag_s": part, "db.replica1.lag_transactions": part}
    first = metrics_of([watched], ["primary", "replica1"])[0]
    assert (first.title, first.unit) == ("how far replicas are behind, seconds", "s")
