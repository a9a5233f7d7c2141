"""The engine's part of a plan's [systems.NAME] table: options of the driver, which it alone knows and decides."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from bakeoff.errors import EngineError, PlanError
from bakeoff.fleet.engine_program import engine_list, engine_path, resolve
from bakeoff.model.boundary import Described, DriverRequest, ListedDriver, Refused, ResolvedDriver

_LISTED = TypeAdapter(list[ListedDriver])


@cache
def drivers() -> dict[str, ListedDriver]:
    """The drivers of this engine, by kind. Raises EngineError."""
    try:
        return {one.kind: one for one in _LISTED.validate_python(engine_list()["drivers"])}
    except ValidationError as error:
        raise EngineError(
            f"the measuring program is not of this version: {error.errors()[0]['msg']}",
            where=str(engine_path()),
            hint="reinstall it with `pip install .`",
        ) from error


def options_of(driver: str) -> list[Described]:
    """Of a kind that no driver speaks to none."""
    listed = drivers().get(driver)
    return listed.options if listed else []


def workloads_of(driver: str) -> list[str]:
    """That it runs."""
    listed = drivers().get(driver)
    return listed.workloads if listed else []


def option_names(driver: str) -> list[str]:
    """What a plan may say of this driver."""
    return [option.name for option in options_of(driver)]


def request(driver: str, table: Mapping[str, Any], **asked: Any) -> DriverRequest:
    """table: [systems.NAME], of which the driver's options are taken. asked: `runner`, `isolation`."""
    known = option_names(driver)
    return DriverRequest(kind=driver, options={name: table[name] for name in table if name in known}, **asked)


def decided(asked: DriverRequest, where: str) -> ResolvedDriver:
    """where: the table's place; a refusal's is that of the option that it is about. Raises PlanError."""
    (answer,) = resolve([asked])
    if isinstance(answer, ResolvedDriver):
        return answer
    assert isinstance(answer, Refused)
    raise PlanError(answer.what, where=where + answer.where.removeprefix("driver"), hint=answer.hint)
