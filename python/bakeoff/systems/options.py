"""Reading a plan's [systems.NAME] table: strict models whose complaints name the nearest known key, and options of the
driver, which the engine alone knows and decides."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, PrivateAttr, ValidationError, model_validator

from bakeoff import input_files
from bakeoff.errors import PlanError
from bakeoff.fleet.engine_program import listed, resolve
from bakeoff.model.resolve import Described, DriverRequest, ListedDriver, Refused, ResolvedDriver
from bakeoff.suggestions import is_close, meant, nearest, sentence

#: Keys of [systems.NAME] that the plan itself handles: never unknown, but what a misspelt one may have meant.
PLAN_KEYS = {"kind", "durability", "isolation", "consistency", "data", "reset", "optional", "prices"}


def address_of(options: Mapping[str, Any]) -> str | None:
    """Of a system that exists already; None: these options ask for one to be started."""
    return str(options["address"]) if "address" in options else None


class Options(BaseModel):
    """Base of option tables: unknown keys are refused, because a misspelt key ignored is a wrong benchmark."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    _driver: dict[str, Any] = PrivateAttr(default_factory=dict)

    @property
    def driver(self) -> dict[str, Any]:
        """Of a system's table: the options of its driver, each decided by the engine."""
        return self._driver


def _setting_text(value: object) -> object:
    """TOML values as a server's configuration spells them."""
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    return str(value) if isinstance(value, int | float) else value


#: A server setting's value: text, number or boolean in the plan, always text afterwards.
Setting = Annotated[str, BeforeValidator(_setting_text, json_schema_input_type=str | float | bool)]
Settings = dict[str, Setting]


def _library_setting_text(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else _setting_text(value)


#: Of libraries, which spell a boolean as TOML does.
LibrarySettings = dict[
    str, Annotated[str, BeforeValidator(_library_setting_text, json_schema_input_type=str | float | bool)]
]


Read = TypeVar("Read", bound=Options)


class Password(Options):
    """Where a password comes from; the password itself is never in a plan."""

    env: str | None = None
    file: str | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Password:
        if (self.env is None) == (self.file is None):
            raise ValueError('needs either env = "VARIABLE" or file = "path"')
        return self

    def located(self, base_dir: Path) -> Password:
        """With the file's path made absolute."""
        return self if self.file is None else Password(file=str((base_dir / self.file).absolute()))

    def read(self, where: str) -> str:
        if self.env is not None:
            if self.env not in os.environ:
                raise PlanError(
                    f"the environment variable {self.env} that holds the password is not set",
                    where=where,
                    hint=f"export {self.env}=... before running bakeoff",
                )
            return os.environ[self.env]
        try:
            return input_files.read_text(str(self.file)).rstrip("\n")
        except OSError as error:
            raise PlanError(f"cannot read the password file {self.file}: {error.strerror}", where=where) from error
        except UnicodeDecodeError:
            raise PlanError(f"the password file {self.file} is not UTF-8 text", where=where) from None

    def as_secret(self) -> dict[str, str]:
        """As the engine's document names it."""
        return {"env": self.env} if self.env is not None else {"file": str(self.file)}


def read_options(
    model: type[Read],
    options: dict[str, Any],
    where: str,
    *,
    driver: str,
    isolation: str | None,
    others: Iterable[str] = (),
) -> Read:
    """Checks a system's table (the key `kind` is the plan's and left out): the control plane's own options against
    `model`, those of the driver by the engine, if one speaks to it. isolation: that the load will ask for. others: keys
    that a plan may write in addition to these. Raises PlanError."""
    of_driver = option_names(driver)
    own = {key: value for key, value in options.items() if key != "kind" and key not in of_driver}
    read = _checked(model, own, where, {*of_driver, *PLAN_KEYS, *others})
    if driver:
        read._driver = decided(request(driver, options, isolation=isolation), where).options
    return read


def read_own(model: type[Read], options: dict[str, Any], where: str) -> Read:
    """What the control plane alone knows of a system's table, whatever else is in it; the engine is not asked. Raises
    PlanError."""
    return _checked(model, {key: options[key] for key in options.keys() & _keys(model)}, where, PLAN_KEYS)


def _checked(model: type[Read], options: dict[str, Any], where: str, others: set[str]) -> Read:
    """others: keys in addition to the model's that an unknown one may have meant."""
    try:
        return model.model_validate(options)
    except ValidationError as error:
        first = min(error.errors(), key=lambda one: one["type"] == "missing")  # it may be there misspelt
        place = ".".join([where, *(str(part) for part in first["loc"] if not _is_branch(part))])
        if first["type"] == "extra_forbidden":
            key = str(first["loc"][-1])
            known = sorted(_known_keys(model, first["loc"]) | (others if len(first["loc"]) == 1 else set()))
            hint = meant(key, known)
            if len(first["loc"]) == 1 and "settings" in known and not is_close(key, nearest(key, known) or ""):
                hint = f"the server's own settings belong in settings = {{ {key} = ... }}; {hint}"
            raise PlanError(f"unknown key `{key}`", where=place, hint=hint) from None
        if first["type"] == "missing":
            raise PlanError(f"`{first['loc'][-1]}` is missing", where=place) from None
        what, hint = sentence(first, place.removeprefix(where).rpartition(".")[2])
        raise PlanError(what, where=place, hint=hint) from None


def _is_branch(part: str | int) -> bool:
    """Parts of a place that name a union's branch rather than a key of the plan."""
    return isinstance(part, str) and (part[:1].isupper() or "[" in part or part in {"bool", "str"})


def _known_keys(model: type[BaseModel], location: tuple[str | int, ...]) -> set[str]:
    """The keys allowed at the place of an unknown one, following the models down."""
    for part in location[:-1]:
        field = model.model_fields.get(str(part))
        if field is None:
            continue
        inner = [one for one in _types_of(field.annotation) if isinstance(one, type) and issubclass(one, BaseModel)]
        if inner:
            model = inner[0]
    return _keys(model)


def _keys(model: type[BaseModel]) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}


def _types_of(annotation: Any) -> list[Any]:
    arguments = getattr(annotation, "__args__", None)
    return [annotation] if arguments is None else [one for argument in arguments for one in _types_of(argument)]


@cache
def drivers() -> dict[str, ListedDriver]:
    """The drivers of this engine, by kind. Raises EngineError."""
    return listed("drivers", ListedDriver)


def options_of(driver: str) -> list[Described]:
    """Of a kind that no driver speaks to none."""
    return drivers()[driver].options if driver in drivers() else []


def workloads_of(driver: str) -> list[str]:
    """That it runs."""
    return drivers()[driver].workloads if driver in drivers() else []


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
