"""Documents of claims: wrong ones are refused in one sentence, the page explains every key, those of bakeoff itself
fit their plans."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from bakeoff.claims.article import SHIPPED, find, find_plan, short
from bakeoff.claims.document import TABLES, TESTS, read_article
from bakeoff.claims.schema import SCHEMA
from bakeoff.claims.verdict import PlanMeasured, judge_article, plan_names
from bakeoff.cli import main
from bakeoff.cli.reference import claims_meanings
from bakeoff.errors import ExitCode, PlanError
from bakeoff.plan.read import read_plan
from jsonschema import Draft7Validator

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted((ROOT / "claims").rglob("*.toml"))
CLAIMS = [path for path in DOCUMENTS if "[[claims]]" in path.read_text()]
VALIDATOR = Draft7Validator(json.loads(SCHEMA.read_text()))
GOOD = """
format = 1
article = "mine"
title = "Mine"

[[claims]]
id = "A-1"
says = "One is faster."
plan = "pair"
[claims.test]
kind = "difference"
of = { system = "one" }
against = { system = "other" }
is = "higher"

[[claims]]
id = "A-2"
says = "It peaks at four."
plan = "pair"
[[claims.tests]]
kind = "peak"
over = "threads"
at = [4]
"""


def refused(folder: Path, text: str) -> PlanError:
    path = folder / "mine.toml"
    path.write_text(text)
    with pytest.raises(PlanError) as error:
        read_article(path)
    return error.value


def test_the_good_one_is_good(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(GOOD)
    found = read_article(tmp_path / "mine.toml")
    assert plan_names(found) == ["pair"]
    assert not list(VALIDATOR.iter_errors(tomllib.loads(GOOD)))


@pytest.mark.parametrize(
    ("right", "instead", "says", "where", "hint"),
    [
        ("format = 1", "format = 2", "`format` cannot be 2", "format", ""),
        ('title = "Mine"', 'titel = "Mine"', "unknown key `titel`", "titel", "`title`"),
        ("says = ", "sais = ", "unknown key `sais`", "claim A-1, sais", "`says`"),
        ("against = ", "agianst = ", "unknown key `agianst`", "claim A-1, test.agianst", "`against`"),
        ('"difference"', '"diference"', "unknown kind of test `diference`", "claim A-1, test", "`difference`"),
        ('kind = "peak"\n', "", "a test needs `kind`", "claim A-2, tests.0", "difference"),
        ('is = "higher"', 'is = "better"', "`is` cannot be", "claim A-1, test.is", "higher"),
        ('is = "higher"\n', "", "the key `is` is missing", "claim A-1, test.is", ""),
        ('is = "higher"', 'is = "higher"\nby_at_least = 0.5', "must be at least 1", "claim A-1, test.by_at_least", ""),
        ("at = [4]", "", "a peak needs one of `at` and `same_for`", "claim A-2, tests.0", "at = [4, 8]"),
        ("at = [4]", "at = 4", "`at` must be a list", "claim A-2, tests.0.at", ""),
        ('"A-2"', '"A-1"', "two claims have the id A-1", "", "its own"),
        ('plan = "pair"', "", "a claim with a test needs `plan`", "claim A-1", "pool-small.toml"),
        ('plan = "pair"', 'plan = "pair"\nuntestable = "why"', "a claim has a test, or says why", "claim A-1", ""),
        ('plan = "pair"', 'plan = "pair"\nevidence = "analogue"', "an analogue says of what", "claim A-1", "in place"),
        ('article = "mine"', 'article = "../mine"', "`article` is a name of letters", "article", ""),
        ('plan = "pair"', 'plan = "../pair"', "`plan` is a name of letters", "claim A-1, plan", ""),
        ("[[claims]]", "[[claims", "not valid TOML", "", "quotes"),
        ('is = "higher"', 'is = "higher"\nby_at_least = inf', "`by_at_least`", "claim A-1, test.by_at_least", ""),
        (
            '"peak"\nover = "threads"\nat = [4]',
            '"level"\nof = { threads = 4 }\nlow = 0',
            "always above 0",
            "A-2",
            "raise",
        ),
        ('"peak"\nover = "threads"\nat = [4]', '"level"\nof = { threads = 4 }\nhigh = inf', "`high`", "A-2", ""),
        ('title = "Mine"', 'title = "Mi\\nne"', "`title`", "title", ""),
        (GOOD, "format = 1", "is missing", "", ""),
    ],
)
def test_a_wrong_document_is_refused_in_one_sentence(
    right: str, instead: str, says: str, where: str, hint: str, tmp_path: Path
) -> None:
    error = refused(tmp_path, GOOD.replace(right, instead, 1))
    assert says in error.what
    assert "mine.toml" in error.where
    assert where in error.where
    assert hint in error.hint
    assert error.exit_code == ExitCode.USAGE


@pytest.mark.parametrize(
    "changes",
    [("titel", "title"), ("agianst", "against"), ('"diference"', '"difference"'), ("format = 2", "format = 1")],
)
def test_the_schema_refuses_what_is_misspelt(changes: tuple[str, str]) -> None:
    wrong, right = changes
    assert list(VALIDATOR.iter_errors(tomllib.loads(GOOD.replace(right, wrong, 1))))


@pytest.mark.parametrize("place", TABLES, ids=lambda place: " ".join(place) or "top")
def test_the_page_explains_every_key_and_no_other(place: tuple[str, ...]) -> None:
    keys = {field.alias or name for name, field in TABLES[place].model_fields.items()}
    common = {"kind", "plan", "measure", "each"} if place[:1] == ("tests",) else set()
    assert set(claims_meanings(ROOT / "docs/reference")[place]) - common == keys - common


def test_claims_come_with_bakeoff_and_are_found_by_name() -> None:
    assert SHIPPED.is_dir()
    for path in SHIPPED.glob("*.toml"):
        assert find(path.stem) == path
        assert short(path) == f"claims/{path.name}"
        assert read_article(path).article == path.stem


@pytest.mark.parametrize("path", CLAIMS, ids=lambda path: path.stem)
@pytest.mark.parametrize("scale", ["small", "full"])
def test_every_claim_fits_its_plan(path: Path, scale: str) -> None:
    article = read_article(path)
    assert not list(VALIDATOR.iter_errors(tomllib.loads(path.read_text())))
    plans = {}
    for name in plan_names(article):
        plan = read_plan(find_plan(path, article, name, scale), must_run=False)
        plans[name] = PlanMeasured(plan.path or path, plan.record, plan.skipped)
    found = judge_article(article, plans, str(path), scale, "")
    assert {one.verdict for one in found.claims} <= {"inconclusive", "not testable"}


def test_unknown_articles_claims_and_plans_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.toml").write_text(GOOD)
    for arguments, words in (
        ([str(tmp_path / "mine.toml"), "--dry-run"], "there is no plan `pair` of the scale small"),
        ([str(tmp_path / "mine.toml"), "--only", "A-3"], "there is no claim `A-3`"),
        (["unheard-of"], "there is no article `unheard-of`"),
        ([str(tmp_path / "absent.toml")], "cannot read the claims"),
        ([str(tmp_path / "mine.toml"), "--html", "x.txt"], "must end in .html"),
    ):
        assert main(["claims", *arguments]) == ExitCode.USAGE
        assert words in capsys.readouterr().err


def test_every_kind_of_test_is_in_the_schema() -> None:
    text = SCHEMA.read_text()
    assert all(f'"const": "{kind}"' in text for kind in TESTS)


def test_a_plan_is_found_from_inside_the_folder_of_the_claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = tmp_path / "plans/articles/mine/pair.toml"
    plan.parent.mkdir(parents=True)
    plan.touch()
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims/mine.toml").write_text(GOOD)
    monkeypatch.chdir(tmp_path / "claims")
    document = find("mine.toml")
    assert find_plan(document, read_article(document), "pair", "small") == plan


@pytest.mark.parametrize("digits", [400, 5000])
def test_a_number_of_hundreds_of_digits_is_refused(digits: int, tmp_path: Path) -> None:
    test = f'kind = "equivalent"\nof = {{ threads = 1 }}\nagainst = {{ threads = 2 }}\nwithin = {"9" * digits}'
    path = tmp_path / "a.toml"
    claim = f'[[claims]]\nid = "A"\nsays = "x"\nplan = "p"\n[claims.test]\n{test}\n'
    path.write_text(f'format = 1\narticle = "a"\ntitle = "A"\n{claim}')
    with pytest.raises(PlanError):
        read_article(path)
