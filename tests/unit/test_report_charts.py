"""Charts: axes that do not deceive, marks where the values are."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest
from bakeoff.analysis.wording import bytes_words, grouped, milliseconds_words
from bakeoff.errors import BakeoffError
from bakeoff.report.charts import png, server, sweep
from bakeoff.report.charts.panel import apart
from bakeoff.report.charts.png import Conversion
from bakeoff.report.charts.scales import (
    EMPTY,
    Levels,
    Linear,
    Log,
    Nines,
    Points,
    Series,
    bytes_tick,
    for_bytes,
    for_latency,
    percent_tick,
    pixels,
    short,
)
from bakeoff.report.charts.spectrum import Curve, Facet, spectrum
from bakeoff.report.charts.svg import lined, text_width
from bakeoff.report.charts.sweep import Line, Place, Repetition, latency, throughput
from bakeoff.report.charts.timeline import RunOverTime, Setting, detail, overview
from hypothesis import given
from hypothesis import strategies as st

positive = st.floats(1e-3, 1e9)


def elements(drawing: str, tag: str) -> list[ET.Element]:
    return [e for e in ET.fromstring(drawing).iter() if e.tag.endswith("}" + tag)]


@given(positive)
def test_a_rate_axis_starts_at_zero_and_ends_at_a_round_number_above(high: float) -> None:
    scale = Linear.from_zero(high, 300, 0)
    ticks = scale.ticks()
    assert ticks[0] == 0
    assert scale.high >= high * (1 - 1e-9)
    assert ticks[-1] == pytest.approx(scale.high)
    assert 2 <= len(ticks) <= 8


@given(positive, st.floats(1.0, 1e6))
def test_a_logarithmic_axis_holds_its_values_and_has_at_least_two_numbers(low: float, ratio: float) -> None:
    scale = Log.around(low, low * ratio, 300, 0)
    assert -1e-3 <= scale(low * ratio) <= scale(low) <= 300 + 1e-3  # pixels
    assert len(scale.ticks()) >= 2


def test_latency_is_logarithmic_only_where_the_range_asks_for_it() -> None:
    assert for_latency([1.0, 7.9], 300, 0).kind == "linear"
    assert for_latency([1.0, 8.1], 300, 0).kind == "log"
    assert for_latency([], 300, 0).kind == "linear"
    assert for_latency([0.0, 5.0], 300, 0).domain[0] == 0


@given(positive)
def test_an_axis_of_bytes_has_numbers_that_are_round_in_binary_units(high: float) -> None:
    scale = for_bytes([high], 300, 0)
    assert scale.high >= high * (1 - 1e-8)
    assert 4 <= len(scale.ticks()) <= 6
    assert math.log2(scale.step) == int(math.log2(scale.step))


def test_bytes_at_an_axis_have_their_unit() -> None:
    ticks = for_bytes([900 << 20], 300, 0).ticks()
    assert [bytes_tick(tick) for tick in ticks] == ["0", "256 MiB", "512 MiB", "768 MiB", "1 GiB"]
    assert bytes_tick(512) == "512 B"


def test_a_share_is_in_per_cent_at_an_axis_as_it_is_in_tables() -> None:
    assert [percent_tick(ratio) for ratio in (0, 0.005, 0.4)] == ["0 %", "0.5 %", "40 %"]


def test_every_nine_takes_the_same_room() -> None:
    scale = Nines(0.999999, 0, 600)
    assert [round(scale(share)) for share in (0.9, 0.99, 0.999, 0.999999)] == [100, 200, 300, 600]


@given(st.lists(positive, min_size=1, max_size=50))
def test_many_values_at_once_lie_where_each_alone_does(values: list[float]) -> None:
    low, high = min(values), max(values)
    for scale in (Linear.from_zero(high, 300, 0), Log.around(low, high, 300, 0), Points(3, 0, 90)):
        assert pixels(scale, np.asarray(values)) == pytest.approx([scale(v) for v in values], abs=1e-6)


def test_a_long_title_takes_two_lines_before_it_is_shortened() -> None:
    words = "preset a, innodb_flush_log_at_trx_commit 2, isolation repeatable-read, 16 threads"
    assert lined("preset a", 100) == ["preset a"]
    assert " ".join(lined(words, text_width(words) * 0.6)) == words
    short = lined(words, text_width(words) * 0.3)
    assert len(short) == 2
    assert "…" in short[1]
    assert short[1].endswith("16 threads")


@given(st.lists(st.floats(0, 300), min_size=1, max_size=12))
def test_labels_keep_their_distance_and_their_order(places: list[float]) -> None:
    moved = apart(places, 15, 0, 300)
    in_order = sorted(range(len(places)), key=lambda i: places[i])
    gaps = [moved[b] - moved[a] for a, b in pairwise(in_order)]
    assert all(gap >= 15 - 1e-6 for gap in gaps)
    assert max(moved) <= 300 + 1e-6
    assert min(moved) >= -1e-6


def test_labels_that_are_apart_stay_where_they_are() -> None:
    assert apart([10, 200, 100], 15, 0, 300) == [10, 200, 100]


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.00085, "850 ns"), (0.0123, "12.3 µs"), (1.25, "1.25 ms"), (999.6, "1.00 s"), (2_000, "2.00 s"), (0, "0 ns")],
)
def test_times_have_three_digits_and_a_unit_that_suits(value: float, words: str) -> None:
    assert milliseconds_words(value) == words


def test_numbers_are_short_at_an_axis_and_whole_in_a_table() -> None:
    assert [short(v) for v in (0, 0.5, 999, 1_000, 2_500_000)] == ["0", "0.5", "999", "1k", "2.5M"]
    assert [grouped(v) for v in (0.1234, 12.34, 12_345.6)] == ["0.123", "12.3", "12,346"]
    assert bytes_words(1_500_000) == "1.43 MiB"


NUMBERS = sweep.Axis(("1", "2"), "threads", (1.0, 2.0))
ONE = sweep.Axis(("1",))


def place(position: int, value: float, *, valid: bool = True) -> Place:
    run = Repetition(value, valid, f"run {value}")
    return Place(position, value, value * 0.9, value * 1.1, f"cell {value}", (run,))


def test_a_marker_stands_at_its_value_and_an_error_bar_around_it() -> None:
    lines = (Line(0, "a", (place(0, 500.0), place(1, 1000.0))),)
    drawing = throughput([sweep.Facet("", lines)], ["a"], NUMBERS).standalone("t")
    marks = {e[0].text: e for e in elements(drawing, "circle")}
    zero, full = (next(t for t in elements(drawing, "text") if t.text == words) for words in ("0", "1k"))
    heights = [float(re.findall(r",([\d.]+)\)", t.get("transform") or "")[0]) for t in (zero, full)]
    at_500, at_1000 = (float(marks[f"cell {v}"].get("cy") or 0) for v in (500.0, 1000.0))
    per_unit = (heights[0] - heights[1]) / 1000
    assert at_500 - at_1000 == pytest.approx(500 * per_unit, abs=0.2)


def test_levels_that_double_stand_evenly_and_others_by_their_value() -> None:
    doubling = Levels((1, 2, 4, 8, 16), 0, 100)
    assert [doubling(level) for level in doubling.ticks()] == pytest.approx([5, 27.5, 50, 72.5, 95])
    assert Levels((10, 20, 40), 0, 100)(20) == pytest.approx(50)
    assert [Levels((0, 10, 30), 0, 100)(level) for level in (0, 10, 30)] == pytest.approx([5, 35, 95])


def test_along_numbers_the_interval_is_a_band_and_the_limit_a_line_with_its_words() -> None:
    lines = (Line(0, "a", (place(0, 500.0), place(1, 1000.0))),)
    limits = [sweep.Limit(800.0, "rate above 800/s"), sweep.Limit(90_000.0, "out of sight")]
    drawing = throughput([sweep.Facet("", lines)], ["a"], NUMBERS, limits).standalone("t")
    (band,) = [e for e in elements(drawing, "polygon") if e.get("fill-opacity")]
    assert len((band.get("points") or "").split()) == 4
    assert [e.text for e in elements(drawing, "text") if "800/s" in (e.text or "")] == ["rate above 800/s"]
    assert len([e for e in elements(drawing, "line") if e.get("class") == "limit"]) == 1
    assert "out of sight" not in drawing


def test_one_repetition_far_off_is_an_arrow_with_its_value_and_the_others_can_be_read() -> None:
    runs = [Repetition(value, True, f"run {value}") for value in (1.0, 1.1, 0.9, 1.05, 100.0)]
    outlier = Place(1, 2.5, 0.2, 32.0, "cell", tuple(runs))
    lines = (Line(0, "a", (place(0, 1.0), outlier)),)
    drawing = latency("p99", [sweep.Facet("", lines)], ["a"], NUMBERS).standalone("t")
    arrows = [e[0].text for e in elements(drawing, "polygon") if len(e)]
    assert arrows == ["the interval goes on to 32 ms", "run 100.0"]
    assert [e.text for e in elements(drawing, "text") if e.get("class") == "note"] == ["32 ms", "100 ms"]
    usual = [float(e.get("cy") or 0) for e in elements(drawing, "circle") if e[0].text in ("run 0.9", "run 1.1")]
    assert abs(usual[0] - usual[1]) > 10  # of some 300 pixels


def test_an_interval_that_goes_on_beyond_the_axis_has_an_open_end_there_and_its_value() -> None:
    wide = Place(0, 2_000.0, 50.0, 88_858.0, "cell", tuple(Repetition(v, True, str(v)) for v in (1_500.0, 2_600.0)))
    held = Place(0, 2_000.0, 1_700.0, 2_300.0, "cell")
    for which, open_ends, caps in ((wide, ["the interval goes on to 88.86k"], 1), (held, [], 2)):
        drawing = throughput([sweep.Facet("", (Line(0, "a", (which,)),))], ["a"], ONE).standalone("t")
        assert [e[0].text for e in elements(drawing, "polygon") if len(e)] == open_ends
        flat = [e for e in elements(drawing, "line") if e.get("y1") == e.get("y2")]
        lengths = [float(e.get("x2") or 0) - float(e.get("x1") or 0) for e in flat]
        assert sum(length == pytest.approx(8.0) for length in lengths) == caps


def heights(*values: float) -> list[float]:
    """Pixels above the ground of one marker each, in panels of their own."""
    facets = [sweep.Facet(str(v), (Line(0, "a", (place(0, v),)),)) for v in values]
    drawing = throughput(facets, ["a"], ONE).standalone("t")
    marks = {e[0].text: e for e in elements(drawing, "circle")}
    grounds = [float(e.get("y1") or 0) for e in elements(drawing, "line") if e.get("class") == "axis"]
    return [max(grounds) - float(marks[f"cell {v}"].get("cy") or 0) for v in values]


def test_panels_share_an_axis_while_the_smallest_can_be_read_on_it() -> None:
    small, large = heights(500.0, 3_000.0)
    assert large == pytest.approx(6 * small, rel=0.1)


def test_a_panel_that_would_lie_flat_next_to_another_has_an_axis_of_its_own() -> None:
    small, large = heights(355.0, 11_786.0)
    assert small > 0.5 * large


def test_a_run_that_is_not_valid_is_a_cross_with_its_reason() -> None:
    lines = (Line(0, "a", (place(0, 500.0, valid=False),)),)
    drawing = throughput([sweep.Facet("", lines)], ["a"], ONE).standalone("t")
    assert sum(e.get("class") == "invalid" for e in elements(drawing, "line")) == 2


def test_a_cell_without_a_value_leaves_a_gap_and_no_mark() -> None:
    empty = Place(0, None, None, None, "")
    drawing = throughput([sweep.Facet("", (Line(0, "a", (empty,)),))], ["a"], ONE).standalone("t")
    assert elements(drawing, "circle") == []


def test_each_contestant_has_its_own_colour_and_shape() -> None:
    lines = tuple(Line(n, name, (place(0, 100.0 + n), place(1, 200.0))) for n, name in enumerate("abcd"))
    drawing = throughput([sweep.Facet("", lines)], list("abcd"), NUMBERS).standalone("t")
    strokes = {e.get("stroke") for e in elements(drawing, "polyline")}
    assert len(strokes) == 4
    shapes = {len((e.get("points") or "").split()) for e in elements(drawing, "polygon")}
    assert shapes == {3, 4}


def test_a_spectrum_ends_with_a_cross_where_failures_begin() -> None:
    whole = Curve(0, "a", ((0.5, 1.0), (0.99, 5.0)))
    short_one = Curve(1, "b", ((0.5, 1.0), (0.9, 5.0)), failed_from=0.95)
    drawing = spectrum([Facet("", (whole, short_one))], ["a", "b"]).standalone("t")
    assert [e.text for e in elements(drawing, "title")][-1] == "b: failures begin at p95"


def run_over_time(*, valid: bool = True, seconds: int = 70, **metrics: float) -> RunOverTime:
    at = np.arange(float(seconds))
    rate = Series(at, 100 + at % 7)
    watched = {name: Series(at, value + at % 3) for name, value in metrics.items()}
    return RunOverTime(0, "a", 1, valid, rate, rate, rate, watched)


def test_warm_up_is_marked_in_every_panel() -> None:
    run = run_over_time(**{"os.rss_bytes": 1e6})
    drawing = detail(Setting("8 threads", 10, (run,)), ["a"]).standalone("t")
    shades = [e for e in elements(drawing, "rect") if e.get("class") == "warm-up"]
    assert len(shades) == 3
    assert len({(e.get("x"), e.get("width")) for e in shades}) == 1  # one time axis


def test_an_invalid_run_is_dashed_in_the_overview() -> None:
    drawing = overview([Setting("", 0, (run_over_time(valid=False), run_over_time()))], ["a"]).standalone("t")
    dashes = [e.get("stroke-dasharray") for e in elements(drawing, "polyline")]
    assert dashes == ["4 3", None]


def test_long_runs_are_drawn_in_steps_and_keep_their_mean() -> None:
    series = Series(np.arange(3600.0), np.random.default_rng(1).normal(100, 5, 3600))
    (thin,) = series.drawn()
    assert len(thin) == 300
    assert thin.values.mean() == pytest.approx(series.values.mean())


def test_seconds_without_a_value_are_left_out() -> None:
    series = Series.of(np.arange(3.0), np.asarray([1.0, np.nan, 3.0]))
    assert series.seconds.tolist() == [0.0, 2.0]


def test_a_line_ends_where_a_second_is_missing_and_another_begins_after_it() -> None:
    values = np.asarray([1.0, 2.0, np.nan, np.nan, 3.0, np.nan, 4.0, 5.0])
    lines = Series.of(np.arange(8.0) + 0.5, values).drawn()
    assert [line.values.tolist() for line in lines] == [[1.0, 2.0], [3.0], [4.0, 5.0]]
    late = Series(np.asarray([0.0, 1.02, 1.98, 3.01]), np.ones(4))
    assert len(late.drawn()) == 1
    assert EMPTY.drawn() == []


def test_steps_that_become_longer_after_an_hour_break_no_line() -> None:
    seconds = np.concatenate([np.arange(3600.0), np.arange(3600.0, 9000.0, 10.0)])
    assert len(Series.of(seconds, seconds).drawn()) == 1
    silent = np.delete(seconds, slice(3700, 3704))
    assert len(Series.of(silent, silent).drawn()) == 2


def test_percentiles_of_a_long_run_are_thinned_to_seconds_that_occurred() -> None:
    """A day: the one second of 900 ms is seen, and no value that no second had."""
    values = 5.0 + np.arange(86_400.0) % 7
    values[40_000] = 900.0
    (thin,) = Series.of(np.arange(86_400.0), values).drawn(extremes=True)
    assert len(thin) <= 300
    assert thin.values[thin.seconds == 40_000.0].tolist() == [900.0]
    assert all(values[int(second)] == value for second, value in zip(thin.seconds, thin.values, strict=True))
    (short,) = Series.of(np.arange(300.0), values[:300]).drawn(extremes=True)
    assert len(short) == 300


def test_server_panels_show_the_operating_system_first_and_few_of_the_servers_own() -> None:
    at = np.arange(5.0)
    columns = {f"db.Thing_{n}_per_s": Series(at, at * n) for n in range(40)}
    columns |= {"db.Log_fsyncs_per_s": Series(at, at), "db.Constant": Series(at, at * 0 + 5)}
    columns |= {"os.write_bytes_per_s": Series(at, at), "os.cpu_cores": Series(at, at), "os.nothing": Series(at, at)}
    found = [metric.name for metric in server.metrics_of([columns])]
    assert found[:3] == ["os.cpu_cores", "os.write_bytes_per_s", "db.Log_fsyncs_per_s"]
    assert len(found) == 2 + server.OWN_METRICS_MAX
    assert "db.Constant" not in found


def test_a_drawing_that_cannot_be_converted_is_reported_in_one_sentence(tmp_path: object) -> None:
    from pathlib import Path

    path = Path(str(tmp_path)) / "broken.svg"
    path.write_text("<svg")
    with Conversion([path]) as conversion, pytest.raises(BakeoffError, match="could not make PNG files of the charts"):
        conversion.pictures()


def test_a_conversion_that_takes_too_long_is_reported_in_one_sentence(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pathlib import Path

    path = Path(str(tmp_path)) / "drawing.svg"
    path.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    monkeypatch.setattr(png, "TIMEOUT_S", 0.0)
    with Conversion([path]) as conversion, pytest.raises(BakeoffError, match="were not made within 0 s"):
        conversion.pictures()
