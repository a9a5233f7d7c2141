"""Reading the options of a plan's [workload]: strict models whose complaints are one sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import PlanError
from ..nearest import one_of

U32_MAX = 2**32 - 1
U64_MAX = 2**63 - 1  # what TOML and JSON carry exactly
Count = Annotated[int, Field(ge=0, le=U64_MAX)]
Small = Annotated[int, Field(ge=0, le=U32_MAX)]
Positive = Annotated[int, Field(ge=1, le=U32_MAX)]


class OptionTable(BaseModel):
    """Unknown keys are refused, because a misspelt key ignored is a wrong benchmark; "5" is no number."""

    model_config = ConfigDict(extra="forbid", strict=True)


def refuse_unknown(said: Iterable[str], known: Sequence[str], kind: str) -> None:
    for name in said:
        if name not in known:
            raise PlanError(f"unknown option `{name}` of {kind}", hint=one_of(name, known))


def refuse_unless(rules: Iterable[tuple[bool, str, str]]) -> None:
    """Each rule: whether it holds, what to say if not, and what to write instead."""
    for holds, what, hint in rules:
        if not holds:
            raise PlanError(what, hint=hint)


def complaint(error: ValidationError) -> tuple[str, str, str]:
    """Of the first thing wrong: the option, what is wrong with it, and what may stand there."""
    detail = error.errors(include_url=False)[0]
    option, *inner = (str(part) for part in detail["loc"])
    part = f" `{inner[-1]}`" if len(inner) > 1 else ""
    value, context = detail["input"], detail.get("ctx", {})
    kind = detail["type"]
    if kind == "extra_forbidden":
        return option, f"`{option}` has no part `{inner[-1]}`", ""
    if kind == "missing":
        return option, f"`{option}` needs{part}", ""
    if kind in ("union_tag_invalid", "literal_error"):
        expected = str(context.get("expected_tags") or context["expected"])
        known = tuple(re.findall(r"'([^']*)'", expected))
        said = value.get("kind") if isinstance(value, dict) else value
        return option, f"`{option}`{part} cannot be {_shown(said)}", f"it is one of: {', '.join(known)}"
    if kind == "union_tag_not_found" or kind.startswith("model_"):
        hint = 'it is a name, or a table such as { kind = "uniform" }'
        return option, f"`{option}` cannot be {_shown(value)}", hint
    words = re.sub("^(Input|String|List) should (be|have) ", "", detail["msg"])
    return option, f"`{option}`{part} cannot be {_shown(value)}", f"it must be {words}"


def option_words(said: dict[str, Any], *, without: Sequence[str]) -> list[str]:
    """Every option that the plan sets, for a label: "payload compat"."""
    return [f"{option} {_words(value)}" for option, value in said.items() if option not in without]


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(str(v) for v in value.values())
    if isinstance(value, list):
        return " ".join(str(v) for v in value) or "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _shown(value: Any) -> str:
    return json.dumps(value, default=str)
