"""Quantities as people write them in a plan ("10s", "0.1%", "5k/s"), and the types of its keys. Wrong ones raise
UnitError with a hint; a bare number is refused wherever its unit would have to be guessed."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

_DURATIONS_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_RATES_PER_S = {"/s": 1.0, "/min": 1 / 60, "/m": 1 / 60, "/h": 1 / 3600}
_COUNT = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6}
#: The engine's own bounds; they keep nanoseconds within 64 bits.
RATE_MAX_OPS_PER_S = 1e9
DURATION_MAX_S = 366 * 86400.0
_DIGITS = r"([0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+)"
_NUMBER = re.compile(rf"\s*{_DIGITS}\s*(.*?)\s*")


class UnitError(ValueError):
    """A quantity that cannot be understood: what is wrong with it, and how it is written."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.hint = hint


def parse_duration_s(value: Any) -> float:
    """Seconds from "500ms", "10s", "2m", "1h", "30d"; 0 needs no unit."""
    hint = 'a duration has the unit us, ms, s, m, h or d, as in "10s" or "500ms"'
    if _is_number(value):
        if value == 0:
            return 0.0
        raise UnitError(f"a duration needs a unit: {value} may be seconds or milliseconds", hint)
    number, unit = _split(value, "a duration", hint)
    if unit not in _DURATIONS_S:
        raise UnitError(f'{_unknown(unit)} in the duration "{value}"', hint)
    seconds = number * _DURATIONS_S[unit]
    if seconds > DURATION_MAX_S:
        raise UnitError(f'"{value}" is longer than a year', hint)
    return seconds


def parse_shift_s(value: Any) -> float:
    """Seconds from "+2s" or "-500ms", not 0."""
    text = str(value).strip()
    sign = -1.0 if text.startswith("-") else 1.0
    seconds = sign * parse_duration_s(text[1:] if text[:1] in ("+", "-") else value)
    if seconds == 0:
        raise UnitError("0 changes nothing", 'write how much, as in "20ms" or "-500ms"')
    return seconds


def _number(value: int | float, hint: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise UnitError("a number of more than 300 digits is out of range", hint) from None


def parse_ratio(value: Any) -> float:
    """A share between 0 and 1 from "0.1%" or 0.001."""
    hint = 'shares are written as "0.1%" or 0.001'
    number, unit = (_number(value, hint), "") if _is_number(value) else _split(value, "a share", hint)
    if unit not in ("", "%"):
        raise UnitError(f'{_unknown(unit)} in the share "{value}"', hint)
    ratio = number / 100 if unit == "%" else number
    if not 0 <= ratio <= 1:
        raise UnitError(f"a share lies between 0 and 100 %, and {value} does not", hint)
    return ratio


def parse_rate_ops_per_s(value: Any) -> float:
    """Operations per second from 5000, "5000/s", "5k/s" or "300/min"; above 0."""
    hint = 'rates are operations per second, written as 5000, "5000/s", "5k/s" or "300/min"'
    number, unit = (_number(value, hint), "") if _is_number(value) else _split(value, "a rate", hint)
    count, slash, per = unit.partition("/")
    count, per = count.strip(), slash + per.strip()
    if count not in _COUNT or (per and per not in _RATES_PER_S):
        raise UnitError(f'{_unknown(unit)} in the rate "{value}"', hint)
    rate = number * _COUNT[count] * _RATES_PER_S.get(per, 1.0)
    if not 0 < rate <= RATE_MAX_OPS_PER_S:
        raise UnitError(f"a rate is above 0 and at most 1e9 per second, and {_short(value)} is not", hint)
    return rate


def parse_cores(value: Any) -> list[int]:
    """Core numbers, sorted, from "0", "0,2-3", 0 or [0, 2]."""
    hint = 'cores are written as "0", "0,2-3" or [0, 2, 3]'
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return [value]
    if isinstance(value, list) and all(isinstance(c, int) and not isinstance(c, bool) and c >= 0 for c in value):
        return sorted(set(value))
    if not isinstance(value, str) or not re.fullmatch(r"\s*\d+(-\d+)?(\s*,\s*\d+(-\d+)?)*\s*|", value):
        raise UnitError(f"{value!r} is not a list of cores", hint)
    cores: set[int] = set()
    for part in filter(None, value.replace(" ", "").split(",")):
        first, _, last = part.partition("-")
        span = range(int(first), int(last or first) + 1)
        if not span or span.stop > 65536:
            raise UnitError(f'"{part}" is not a range of cores', hint)
        cores.update(span)
    return sorted(cores)


def format_number(value: float) -> str:
    """The shortest text that reads back as the same number: 10, 0.5."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def format_duration(value_s: float) -> str:
    """As a plan has it; reads back as the same number."""
    return f"{format_number(value_s)}s"


def format_shift(value_s: float) -> str:
    """The same of a shift."""
    return f"{'-' if value_s < 0 else '+'}{format_duration(abs(value_s))}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _split(value: Any, what: str, hint: str) -> tuple[float, str]:
    if not isinstance(value, str):
        raise UnitError(f"{value!r} is not {what}", hint)
    match = _NUMBER.fullmatch(value)
    if match is None:
        raise UnitError(f'"{value}" is not {what}', hint)
    number = float(match[1])
    if not math.isfinite(number):
        raise UnitError(f'"{value}" is too large', hint)
    return number, match[2]


def _short(value: Any) -> str:
    return f"{value:g}" if _is_number(value) else str(value)


def _unknown(unit: str) -> str:
    return f'"{unit}" is not a unit' if unit else "there is no unit"


def _text(units: str, *, sign: str = "") -> Any:
    """A text with a number and one of these units, for the schema of plans: what the parser takes, and no more."""
    return Annotated[str, Field(pattern=rf"^\s*{sign}{_DIGITS}\s*({units})\s*$")]


_DURATION_UNITS = "us|ms|s|m|min|h|d"
_DurationText = _text(_DURATION_UNITS)
_ShiftText = _text(_DURATION_UNITS, sign="[+-]?")
_RatioText = _text("%?")
_RateText = _text(r"[kKM]?\s*(/\s*(s|min|m|h))?")
_CoresText = Annotated[str, Field(pattern=r"^\s*(\d+(-\d+)?(\s*,\s*\d+(-\d+)?)*\s*)?$")]
_Core = Annotated[int, Field(ge=0)]

Seconds = Annotated[
    float,
    BeforeValidator(parse_duration_s, json_schema_input_type=_DurationText | Literal[0]),
    PlainSerializer(format_duration),
]
#: Ahead ("+2s") or behind ("-500ms").
Shift = Annotated[
    float,
    BeforeValidator(parse_shift_s, json_schema_input_type=_ShiftText),
    PlainSerializer(format_shift),
]
Ratio = Annotated[
    float, BeforeValidator(parse_ratio, json_schema_input_type=_RatioText | Annotated[float, Field(ge=0, le=1)])
]
Rate = Annotated[
    float,
    BeforeValidator(
        parse_rate_ops_per_s,
        json_schema_input_type=_RateText | Annotated[float, Field(gt=0, le=RATE_MAX_OPS_PER_S)],
    ),
]
#: Of a stage, which may be a pause.
StageRate = _RateText | Annotated[float, Field(ge=0, le=RATE_MAX_OPS_PER_S)]
Cores = Annotated[list[int], BeforeValidator(parse_cores, json_schema_input_type=_CoresText | _Core | list[_Core])]
Count = Annotated[int, Field(ge=1, le=10**15)]  # the most that every reader of JSON keeps exactly, in round figures


def _texts(value: Any) -> Any:
    """One text may be written without brackets."""
    return value if isinstance(value, list) else [value]


Texts = Annotated[list[str], BeforeValidator(_texts, json_schema_input_type=str | list[str])]


class Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)
