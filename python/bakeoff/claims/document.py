"""An article's claims as a TOML file: one model per table. docs/reference/claims.md explains every key, and a test
checks each against the other. Unknown keys are refused, as in plans."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError, model_validator

from ..errors import PlanError
from ..input_files import read_text
from ..model.records.plan import Scalar
from ..plan.document.units import Ratio, Seconds, Table, UnitError
from ..suggestions import meant, sentence

#: Cells by their system, workload and levels; of a list any.
Selection = Annotated[dict[str, Scalar | list[Scalar]], Field(min_length=1)]
Where = dict[str, Scalar | list[Scalar]]
Side = Literal["higher", "lower"]
#: Of a file, too.
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Factor = Annotated[float, Field(ge=1, allow_inf_nan=False)]
#: On one line of a terminal.
Line = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]*$")]
Bound = Annotated[float, Field(allow_inf_nan=False)]


class OneTest(Table):
    """What all kinds have. plan, measure: instead of the claim's. each: a factor for each level of which the test is
    made."""

    plan: Name = ""
    measure: str = ""
    each: str = ""


def _refuse_bounds(what: str, low: float | None, high: float | None) -> None:
    if low is None and high is None:
        raise UnitError(f"{what} needs a bound", "write `low`, `high` or both")
    if not low and high is None:
        raise UnitError(f"{what} is always above 0", "raise `low`, or write `high`")
    if low is not None and high is not None and low > high:
        raise UnitError("`low` is above `high`", "for instance low = 1.25, high = 1.3")


class Difference(OneTest):
    kind: Literal["difference"]
    of: Selection
    against: Selection
    is_: Side = Field(alias="is")
    by_at_least: Factor = 1.0


class RatioTest(OneTest):
    kind: Literal["ratio"]
    of: Selection
    against: Selection
    low: Bound | None = Field(default=None, ge=0)
    high: Bound | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _bounded(self) -> RatioTest:
        _refuse_bounds("a ratio", self.low, self.high)
        return self


class Equivalent(OneTest):
    kind: Literal["equivalent"]
    of: Selection
    against: Selection
    within: Ratio = 0.05


class Level(OneTest):
    kind: Literal["level"]
    of: Selection
    low: Bound | None = Field(default=None, ge=0)
    high: Bound | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _bounded(self) -> Level:
        _refuse_bounds("a level", self.low, self.high)
        return self


class Order(OneTest):
    kind: Literal["order"]
    of: list[Selection] = Field(min_length=2)
    is_: Side = Field(alias="is")
    ties_within: Ratio = 0.0


class Trend(OneTest):
    kind: Literal["trend"]
    over: str
    where: Where = Field(default_factory=dict)
    is_: Literal["rising", "falling", "flat"] = Field(alias="is")
    within: Ratio = 0.05


class PeakTest(OneTest):
    kind: Literal["peak"]
    over: str
    where: Where = Field(default_factory=dict)
    is_: Literal["highest", "lowest"] | None = Field(default=None, alias="is")
    at: list[Scalar] = Field(default_factory=list)
    same_for: str = ""

    @model_validator(mode="after")
    def _one_of_two(self) -> PeakTest:
        if bool(self.at) == bool(self.same_for):
            raise UnitError(
                "a peak needs one of `at` and `same_for`", 'for instance at = [4, 8], or same_for = "system"'
            )
        return self


class Independent(OneTest):
    kind: Literal["independent"]
    of: str
    where: Where = Field(default_factory=dict)
    within: Ratio = 0.05


class Law(OneTest):
    kind: Literal["law"]
    law: Literal["little"]
    where: Where = Field(default_factory=dict)
    within: Ratio = 0.05


class Change(OneTest):
    kind: Literal["change"]
    over: Literal["time"] = "time"
    where: Where = Field(default_factory=dict)
    is_: Literal["falls", "rises"] = Field(alias="is")
    by_at_least: Factor = 1.0


class Variability(OneTest):
    kind: Literal["variability"]
    of: Selection
    against: Selection | None = None
    figure: Literal["largest", "cv", "iqr"] = "largest"
    interval: Seconds = 1.0
    is_: Side | None = Field(default=None, alias="is")
    by_at_least: Factor = 1.0
    at_least: Ratio | None = None
    at_most: Ratio | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Variability:
        bounds = self.at_least is not None or self.at_most is not None
        if (self.against is not None) == bounds or (self.against is not None) != (self.is_ is not None):
            hint = 'for instance against = { system = "b" }, is = "higher"; or at_most = "7%"'
            raise UnitError("variability needs `against` and `is`, or a bound", hint)
        if self.interval < 1 or self.interval % 1:
            raise UnitError("`interval` is a number of whole seconds", 'for instance "10s"')
        return self


AnyTest = (
    Difference | RatioTest | Equivalent | Level | Order | Trend | PeakTest | Independent | Law | Change | Variability
)
TESTS: Mapping[str, type[OneTest]] = {
    **{"difference": Difference, "ratio": RatioTest, "equivalent": Equivalent, "level": Level, "order": Order},
    **{"trend": Trend, "peak": PeakTest, "independent": Independent, "law": Law, "change": Change},
    "variability": Variability,
}
_Kind = Annotated[AnyTest, Field(discriminator="kind")]


class Claim(Table):
    """untestable: why it is; then there is no test."""

    id: Line = Field(min_length=1)
    says: str = Field(min_length=1)
    evidence: Literal["direct", "analogue"] = "direct"
    analogue: str = ""
    plan: Name = ""
    measure: str = "rate"
    limits: str = ""
    test: _Kind | None = None
    tests: list[_Kind] = Field(default_factory=list)
    untestable: str = ""

    @property
    def all_tests(self) -> list[AnyTest]:
        return [*([self.test] if self.test else []), *self.tests]

    @model_validator(mode="after")
    def _whole(self) -> Claim:
        tests = self.all_tests
        if bool(tests) == bool(self.untestable):
            hint = 'write a table [claims.test], or untestable = "why"'
            raise UnitError("a claim has a test, or says why it is untestable", hint)
        if (self.evidence == "analogue") != bool(self.analogue):
            hint = 'evidence = "analogue" and analogue = "what is measured in place of what"'
            raise UnitError("an analogue says of what it is one", hint)
        if any(not (test.plan or self.plan) for test in tests):
            raise UnitError("a claim with a test needs `plan`", 'plan = "pool" is pool-small.toml and pool-full.toml')
        return self


class Slip(Table):
    """Arithmetic of the article that does not add up."""

    says: str
    right: str
    why: str = ""


class Article(Table):
    format: Literal[1]
    article: Name
    title: Line
    published: Line = ""
    source: str = ""
    setup: str = ""
    confounds: list[str] = Field(default_factory=list)
    slips: list[Slip] = Field(default_factory=list)
    claims: list[Claim] = Field(min_length=1)

    @property
    def tested(self) -> list[Claim]:
        return [claim for claim in self.claims if claim.all_tests]

    @model_validator(mode="after")
    def _ids_differ(self) -> Article:
        twice = [name for name, count in Counter(claim.id for claim in self.claims).items() if count > 1]
        if twice:
            raise UnitError(f"two claims have the id {twice[0]}", "give each its own")
        return self


#: By the place of a table in the document.
TABLES: Mapping[tuple[str, ...], type[BaseModel]] = {
    (): Article,
    ("claims",): Claim,
    ("slips",): Slip,
    **{("tests", kind): model for kind, model in TESTS.items()},
}


def read_article(path: Path) -> Article:
    """PlanError in one sentence for whatever is wrong with it."""
    try:
        tree = tomllib.loads(read_text(path, encoding="utf-8-sig"))
        return Article.model_validate(tree)
    except OSError as error:
        hint = "`bakeoff claims` lists the articles that come with bakeoff"
        raise PlanError(f"cannot read the claims: {error.strerror}", where=str(path), hint=hint) from None
    except ValidationError as error:
        raise _explained(error, tree, path) from None
    except (ValueError, RecursionError) as error:  # bad TOML or UTF-8, or a number of thousands of digits
        raise PlanError(
            f"the claims are not valid TOML: {error}", where=str(path), hint="texts are in quotes"
        ) from None


def _explained(error: ValidationError, tree: Mapping[str, Any], path: Path) -> PlanError:
    details = error.errors(include_url=False, include_input=True)
    first = min(details, key=lambda d: (d["type"] == "missing", len(d["loc"])))
    place = list(_places(first["loc"]))
    key = next((str(part) for part in reversed(place) if isinstance(part, str)), "")
    kind = first["type"]
    if kind == "extra_forbidden":
        what, hint = f"unknown key `{key}`", meant(key, _keys(first["loc"][:-1]))
    elif kind == "missing":
        what, hint = f"the key `{key}` is missing", ""
    elif kind.startswith("union_tag"):
        said = first.get("ctx", {}).get("tag")
        what = f"unknown kind of test `{said}`" if said else "a test needs `kind`"
        hint = meant(str(said), TESTS) if said else f"it is one of {', '.join(TESTS)}"
    elif kind == "string_pattern_mismatch":
        what, hint = f"`{key}` is a name of letters, digits, `.`, `_` and `-`", ""
    else:
        what, hint = sentence(first, key)
        what = what.removeprefix(f"`{key}`: ") if kind == "value_error" and key in TESTS else what
    return PlanError(what, where=_where(place, tree, path), hint=hint)


def _places(loc: Sequence[str | int]) -> Iterator[str | int]:
    """Without what pydantic adds: the kind of a test, and branches of unions."""
    for n, part in enumerate(loc):
        in_test = n and (loc[n - 1] == "test" or (n > 1 and loc[n - 2] == "tests"))
        if not in_test and not (isinstance(part, str) and re.search(r"[\[(]|^(str|int|float|bool)$", part)):
            yield part


def _keys(table: Sequence[str | int]) -> list[str]:
    """Of the table at this place."""
    model: type[BaseModel] = Article
    if table[:1] in (["claims"], ("claims",)):
        model = TESTS[str(table[-1])] if table[-1] in TESTS else Claim
    elif table:
        model = Slip
    return [field.alias or name for name, field in model.model_fields.items()]


def _where(place: Sequence[str | int], tree: Mapping[str, Any], path: Path) -> str:
    """ "mine.toml, claim A-3, test.of"."""
    words = [str(path)]
    if place[:1] == ["claims"] and len(place) > 1:
        claim = tree["claims"][place[1]]
        name = claim.get("id") if isinstance(claim, dict) else None
        words.append(f"claim {name or int(place[1]) + 1}")
        place = place[2:]
    return ", ".join([*words, *([".".join(map(str, place))] if place else [])])
