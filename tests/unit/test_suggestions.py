"""A wrong value is reported alike wherever in a plan it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bakeoff.errors import PlanError
from builders.plans import refused
from builders.systems import configured


def of_system(options: dict[str, Any]) -> PlanError:
    with pytest.raises(PlanError) as caught:
        configured("mariadb", Path("/nowhere"), options)
    return caught.value


def test_a_number_out_of_bounds_or_of_another_type_is_reported_alike_in_a_system_and_in_the_plan() -> None:
    assert of_system({"start": {"port": 70000}}).what == "`port` is 70000, and must be below 65536"
    assert refused(measure="check_sample = -1").what == "`check_sample` is -1, and must be at least 0"
    assert of_system({"start": {"port": "x"}}).what == '`port` must be a whole number, not the text "x"'
    assert refused(measure="check_sample = 'x'").what == '`check_sample` must be a whole number, not the text "x"'


def test_allowed_words_are_named_nearest_first() -> None:
    assert of_system({"start": {"connect": "sokcet"}}).hint == "did you mean `socket`? It is one of: tcp, socket"


def test_what_is_given_in_place_of_a_table_is_not_repeated() -> None:
    told = of_system({"address": "db1", "password": "hunter2"})
    assert (told.what, told.hint) == ("`password` must be a table, not a text", "such as { key = value }")
