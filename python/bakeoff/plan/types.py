"""The types of a plan's keys, and what all of its tables have in common."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from .units import format_duration, parse_cores, parse_duration_s, parse_rate_ops_per_s, parse_ratio

Seconds = Annotated[float, BeforeValidator(parse_duration_s), PlainSerializer(format_duration)]
Ratio = Annotated[float, BeforeValidator(parse_ratio)]
Rate = Annotated[float, BeforeValidator(parse_rate_ops_per_s)]
Cores = Annotated[list[int], BeforeValidator(parse_cores)]
Count = Annotated[int, Field(ge=1, le=10**15)]  # the most that every reader of JSON keeps exactly, in round figures


def _texts(value: Any) -> Any:
    """One text may be written without brackets."""
    return value if isinstance(value, list) else [value]


Texts = Annotated[list[str], BeforeValidator(_texts)]


class Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)
