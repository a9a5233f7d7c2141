"""Numbers in words."""

import subprocess
import sys

import pytest
from bakeoff.analysis.wording import (
    bytes_words,
    change_words,
    count_words,
    duration_words,
    grouped,
    interval_words,
    percent_words,
    seconds_words,
    significant,
    size_words,
    times_words,
)


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (0.0512, "5.1 %"),
        (0.1234, "12 %"),
        (0.0003, "0.03 %"),
        (0.00099, "0.099 %"),
        (3.14, "314 %"),
        (12.3, "1,230 %"),
        (-0.05, "-5.0 %"),
        (0.0999, "10 %"),
        (0.000000012, "0.0000012 %"),
        (0, "0 %"),
    ],
)
def test_percentages_have_two_digits_and_never_round_to_nothing(ratio: float, words: str) -> None:
    assert percent_words(ratio) == words


@pytest.mark.parametrize(
    ("ratios", "words"),
    [
        ([1.05], "5.0 %"),
        ([0.87], "13 %"),
        ([1.999], "100 %"),
        ([2.0], "2.0x"),
        ([5.8], "5.8x"),
        ([58.3], "58x"),
        ([5.8, 1.2], "1.2x to 5.8x"),
        ([2.23, 2.24], "2.2x"),
        ([0.9, 0.2], "10 % to 80 %"),
        ([1.121, 1.1212], "12 %"),
    ],
)
def test_a_change_to_twice_as_much_or_more_is_a_factor(ratios: list[float], words: str) -> None:
    assert change_words(*ratios) == words


def test_what_is_no_number_is_no_factor() -> None:
    assert [times_words(ratio) for ratio in (float("inf"), float("nan"))] == ["", ""]


@pytest.mark.parametrize(
    ("value_ns", "words"),
    [
        (1, "1 ns"),
        (850, "850 ns"),
        (999.6, "1.00 µs"),
        (12_345, "12.3 µs"),
        (1_250_000, "1.25 ms"),
        (9_999_000, "10.0 ms"),
        (999_600_000, "1.00 s"),
        (3_600_000_000_000, "3,600 s"),
    ],
)
def test_durations_have_three_digits_and_the_unit_that_suits(value_ns: float, words: str) -> None:
    assert duration_words(value_ns) == words


def test_other_numbers_keep_their_whole_digits() -> None:
    assert significant(1234567, 3) == "1,234,567"
    assert significant(0.0012345, 2) == "0.0012"
    assert significant(99.96, 3) == "100"
    assert significant(0, 3) == "0"
    assert count_words(1234567) == "1,234,567"


def test_importing_the_package_loads_neither_numpy_nor_scipy() -> None:
    code = "import sys, bakeoff.analysis, bakeoff.analysis.wording; print({'numpy', 'scipy'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_what_people_wait_for_and_what_they_need_of_a_disk_is_in_the_units_they_know() -> None:
    waits = [seconds_words(s) for s in (0.5, 4, 45, 200, 7500)]
    assert waits == ["0.5 s", "4 s", "45 s", "3 min 20 s", "2 h 05 min"]


@pytest.mark.parametrize(
    ("value_bytes", "words"),
    [
        (512, "512 B"),
        (2048, "2 KiB"),
        (1_500_000, "1.43 MiB"),
        (64 << 20, "64 MiB"),
        (1023.8 * 2**20, "1.00 GiB"),
        (3 << 29, "1.50 GiB"),
        (5000 << 40, "5,000 TiB"),
        (0, "0 B"),
    ],
)
def test_bytes_are_in_the_binary_units_that_servers_take_and_whole_numbers_are_whole(
    value_bytes: float, words: str
) -> None:
    assert bytes_words(value_bytes) == words


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (4.7e-10, 356_033_168_511_384.0, "not known"),
        (1.0, 20_000.0, "not known"),
        (1.0, 9_999.0, "1..9,999"),
        (0.0, 20_000.0, "0..20,000"),
        (95.0, 105.0, "95..105"),
    ],
)
def test_an_interval_that_bounds_nothing_is_not_known(low: float, high: float, words: str) -> None:
    assert interval_words(low, high, grouped, "..") == words


@pytest.mark.parametrize(("value", "words"), [(4.7e-10, "0.00000000047"), (0.00001, "0.00001"), (0.0123, "0.0123")])
def test_no_number_has_an_exponent(value: float, words: str) -> None:
    assert grouped(value) == words


def test_a_file_with_holes_is_shown_with_what_it_holds() -> None:
    assert size_words(12 << 20, 30 << 20) == "12 MiB of 30 MiB (40 %)"
    assert size_words(30 << 20, 30 << 20) == "30 MiB"
    assert size_words(30 << 20, None) == "30 MiB"
