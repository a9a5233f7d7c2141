"""Claims that are true, false and undecidable of bundles with planted figures, of each kind of test."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from bakeoff.analysis.decision import Within
from bakeoff.analysis.estimate import Evidence
from bakeoff.bundle.read import Bundle
from bakeoff.claims.document import Article, Difference, read_article
from bakeoff.claims.measured import Part
from bakeoff.claims.text import parts_words
from bakeoff.claims.verdict import ArticleFound, ClaimFound, PlanMeasured, judge_article, part_found
from bakeoff.errors import PlanError
from bakeoff.model.records.run import RunRecord, Validity
from builders.bundles import Contender, Story, invalid, write_bundle

HEAD = 'format = 1\narticle = "planted"\ntitle = "Planted"\n'
CLAIM = '[[claims]]\nid = "{id}"\nsays = "It is so."\nplan = "p"\nmeasure = "{measure}"\n[claims.test]\n{test}\n'


@dataclass(frozen=True)
class Planted(Contender):
    """By threads."""

    curve: dict[int, float] = field(default_factory=dict)

    def rate(self, threads: int) -> float:
        return self.curve[threads]


CURVES = {
    "rising": (1000, 2000, 4000, 8000),
    "hump": (1000, 2000, 4000, 3000),
    "other_hump": (500, 1500, 6000, 3000),
    "flat": (3000, 3000, 3000, 3000),
    "tenth_more": (3300, 3300, 3300, 3300),
    "falls": (3000, 3000, 4000, 2000),
    "rises": (3000, 3000, 2000, 4000),
}
STORY = Story(
    contenders=[Planted(name, curve=dict(zip((1, 2, 4, 8), rates, strict=True))) for name, rates in CURVES.items()],
    threads=(1, 2, 4, 8),
    presets=("c",),
    repetitions=6,
    window_s=20,
    warm_up_s=2,
    noise=0.015,
    over_time=lambda progress: 1.0 if progress < 0.6 else 0.5,
)
SMALL = replace(STORY, contenders=[one for one in STORY.contenders if one.name in ("flat", "rising")], threads=(8, 1))


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return write_bundle(tmp_path_factory.mktemp("planted") / "bundle", STORY)


def article(folder: Path, text: str) -> Article:
    path = folder / "planted.toml"
    path.write_text(HEAD + text)
    return read_article(path)


def judged(folder: Path, bundle: Bundle, text: str, only: tuple[str, ...] = ()) -> ArticleFound:
    plan = PlanMeasured(Path("p.toml"), bundle.plan, {}).with_bundle(bundle)
    return judge_article(article(folder, text), {"p": plan}, "planted.toml", "small", "bakeoff claims planted", only)


def verdict(folder: Path, bundle: Bundle, test: str, measure: str = "rate") -> ClaimFound:
    (found,) = judged(folder, bundle, CLAIM.format(id="A", measure=measure, test=test)).claims
    return found


AT_8 = 'of = { system = "rising", threads = 8 }\nagainst = { system = "flat" }\n'
MORE = 'of = { system = "tenth_more" }\nagainst = { system = "flat" }\n'
ALONE = 'of = { system = "flat", threads = 1 }\n'
OF = '{{ system = "{}", threads = 8 }}'
ORDER = 'kind = "order"\nis = "higher"\nof = [{}, {}]\n'
AGAINST = 'against = { system = "flat" }\nis = "higher"'
FALLS_AND_RISES = 'system = ["falls", "rises"], threads = [4, 8]'
OPPOSITE = 'of = { system = ["falls", "rises"], threads = 8 }\nagainst = { threads = 4 }\n'
STEP = 'where = { system = "flat", threads = 1 }\n'
CASES = [
    ("reproduced", f'kind = "difference"\n{AT_8}is = "higher"'),
    ("contradicted", f'kind = "difference"\n{AT_8}is = "lower"'),
    ("inconclusive", f'kind = "difference"\n{AT_8}is = "higher"\nby_at_least = {8 / 3}'),
    ("reproduced", f'kind = "ratio"\n{AT_8}low = 2.4\nhigh = 2.9'),
    ("contradicted", f'kind = "ratio"\n{AT_8}low = 1.0\nhigh = 2'),
    ("inconclusive", f'kind = "ratio"\n{AT_8}high = {8 / 3}'),
    ("reproduced", f'kind = "equivalent"\n{MORE}within = "15%"'),
    ("contradicted", f'kind = "equivalent"\n{MORE}within = 0.05'),
    ("inconclusive", f'kind = "equivalent"\n{MORE}within = 0.1'),
    ("reproduced", f'kind = "level"\n{ALONE}low = 2500'),
    ("contradicted", f'kind = "level"\n{ALONE}high = 2500'),
    ("inconclusive", f'kind = "level"\n{ALONE}low = 3000'),
    ("reproduced", ORDER.format(OF.format("rising"), OF.format("flat"))),
    ("contradicted", ORDER.format(OF.format("flat"), OF.format("rising"))),
    ("inconclusive", ORDER.format(OF.format("hump"), OF.format("flat"))),
    ("reproduced", ORDER.format(OF.format("hump"), OF.format("flat")) + "ties_within = 0.1"),
    ("reproduced", 'kind = "trend"\nover = "threads"\nwhere = { system = "rising" }\nis = "rising"'),
    ("contradicted", 'kind = "trend"\nover = "threads"\nwhere = { system = "rising" }\nis = "flat"'),
    ("reproduced", 'kind = "trend"\nover = "threads"\nwhere = { system = ["rising", "flat"] }\nis = "rising"'),
    ("reproduced", 'kind = "trend"\nover = "threads"\nwhere = { system = "flat" }\nis = "flat"\nwithin = 0.1'),
    ("inconclusive", 'kind = "trend"\nover = "threads"\nwhere = { system = "flat" }\nis = "falling"'),
    ("reproduced", f'kind = "trend"\nover = "time"\n{STEP}is = "falling"'),
    ("contradicted", f'kind = "trend"\nover = "time"\n{STEP}is = "rising"'),
    ("reproduced", 'kind = "peak"\nover = "threads"\nwhere = { system = "hump" }\nat = [4]'),
    ("contradicted", 'kind = "peak"\nover = "threads"\nwhere = { system = "hump" }\nat = [1, 8]'),
    ("inconclusive", 'kind = "peak"\nover = "threads"\nwhere = { system = "flat" }\nat = [4]'),
    ("reproduced", 'kind = "peak"\nover = "threads"\nwhere = { system = ["hump", "other_hump"] }\nsame_for = "system"'),
    ("contradicted", 'kind = "peak"\nover = "threads"\nwhere = { system = ["hump", "rising"] }\nsame_for = "system"'),
    ("inconclusive", 'kind = "peak"\nover = "threads"\nwhere = { system = ["hump", "flat"] }\nsame_for = "system"'),
    ("reproduced", 'kind = "independent"\nof = "threads"\nwhere = { system = "flat" }\nwithin = 0.1'),
    ("contradicted", 'kind = "independent"\nof = "threads"\nwhere = { system = "rising" }\nwithin = 0.1'),
    ("inconclusive", 'kind = "independent"\nof = "threads"\nwhere = { system = "flat" }\nwithin = 0.01'),
    ("reproduced", 'kind = "law"\nlaw = "little"\nwithin = 0.1'),
    ("contradicted", 'kind = "law"\nlaw = "little"\nwithin = 0.001'),
    ("reproduced", f'kind = "change"\n{STEP}is = "falls"\nby_at_least = 1.7'),
    ("contradicted", f'kind = "change"\n{STEP}is = "rises"'),
    ("inconclusive", f'kind = "change"\n{STEP}is = "falls"\nby_at_least = 2.0'),
    ("reproduced", f'kind = "variability"\n{ALONE}at_most = "60%"'),
    ("contradicted", f'kind = "variability"\n{ALONE}at_most = 0.1\ninterval = "2s"'),
    ("inconclusive", f'kind = "variability"\n{MORE}is = "lower"\nfigure = "cv"'),
    ("reproduced", f'kind = "difference"\neach = "threads"\n{MORE}is = "higher"'),
    # Among the cells that the test chooses, `each` takes its levels.
    ("reproduced", f'kind = "difference"\neach = "threads"\nof = {{ system = "rising", threads = [4, 8] }}\n{AGAINST}'),
    # Opposite effects, whose mean is none.
    ("contradicted", f'kind = "equivalent"\n{OPPOSITE}within = 0.5'),
    ("contradicted", f'kind = "independent"\nof = "threads"\nwhere = {{ {FALLS_AND_RISES} }}\nwithin = 0.5'),
    ("contradicted", f'kind = "trend"\nover = "threads"\nwhere = {{ {FALLS_AND_RISES} }}\nis = "flat"\nwithin = 0.5'),
    ("contradicted", f'kind = "difference"\n{OPPOSITE}is = "higher"'),
]


@pytest.mark.parametrize(("expected", "test"), CASES, ids=[f"{word} {test[:30]}" for word, test in CASES])
def test_a_planted_claim_gets_its_verdict(expected: str, test: str, planted: Bundle, tmp_path: Path) -> None:
    found = verdict(tmp_path, planted, test)
    assert found.verdict == expected, found.parts
    assert bool(found.why) == (expected == "inconclusive")
    assert all(part.measured for part in found.parts)


def test_every_kind_has_planted_claims_that_are_true_and_false() -> None:
    from bakeoff.claims.kinds import KINDS

    for kind in KINDS:
        words = {expected for expected, test in CASES if f'kind = "{kind}"' in test}
        assert {"reproduced", "contradicted"} <= words, kind


def test_what_is_measured_stands_next_to_what_is_claimed(planted: Bundle, tmp_path: Path) -> None:
    (part,) = verdict(tmp_path, planted, f'kind = "difference"\n{AT_8}is = "higher"\nby_at_least = 1.2').parts
    assert part.about == "throughput of rising, 8 threads against flat"
    assert part.wanted == "at least +20 %"
    assert part.values == "7,981/s against 2,998/s"
    assert part.measured == "2.7x (2.6x to 2.7x)"


def test_claims_of_several_tests_need_all_of_them(planted: Bundle, tmp_path: Path) -> None:
    both = CLAIM.format(id="A", measure="rate", test="").replace("[claims.test]", "")
    tests = [f'[[claims.tests]]\nkind = "difference"\n{AT_8}is = "{side}"\n' for side in ("higher", "lower")]
    assert judged(tmp_path, planted, both + tests[0] + tests[0]).claims[0].verdict == "reproduced"
    assert judged(tmp_path, planted, both + tests[0] + tests[1]).claims[0].verdict == "contradicted"


def test_the_level_is_shared_by_all_tested_claims_also_those_that_were_not_asked(
    planted: Bundle, tmp_path: Path
) -> None:
    test = f'kind = "equivalent"\n{MORE}within = 0.1'
    text = "".join(CLAIM.format(id=name, measure="rate", test=test) for name in "ABCDE")
    text += '[[claims]]\nid = "Z"\nsays = "It tastes good."\nuntestable = "Taste is not measured."\n'
    (found,) = judged(tmp_path, planted, text, only=("C",)).claims
    assert found.level == pytest.approx(0.99)
    last = judged(tmp_path, planted, text)
    assert (last.claims[-1].verdict, last.claims[-1].why) == ("not testable", "Taste is not measured.")
    assert last.counts == "6 claims: 5 inconclusive, 1 not testable"


def test_a_part_that_fails_at_the_level_of_its_claim_but_not_at_its_share_is_open() -> None:
    test = Difference.model_validate({"kind": "difference", "of": {"a": 1}, "against": {"a": 2}, "is": "higher"})
    beneath = Part("a", "higher", Within(Evidence(-0.1, 0.035, 5.0), 0.0))
    assert beneath.question.status(0.05) == "fails"
    found = part_found(test, beneath, 0.05, 2, 0.05)
    assert (found.status, bool(found.needs)) == ("open", True)
    assert found.high is not None
    assert found.high > 1


def test_a_verdict_by_analogue_says_so(planted: Bundle, tmp_path: Path) -> None:
    text = CLAIM.format(id="A", measure="rate", test=f'kind = "difference"\n{AT_8}is = "higher"')
    text = text.replace("plan =", 'evidence = "analogue"\nanalogue = "One in place of the other."\nplan =')
    found = judged(tmp_path, planted, text)
    assert found.claims[0].verdict_words == "✓ reproduced, by analogue"
    assert found.counts == "1 claim: 1 reproduced (1 by analogue)"


def disturbed(run: RunRecord, *, allowed: bool) -> RunRecord:
    by = Validity(name="other processes", severity="disturbed", ok=False, words="30 % went to others")
    return run.model_copy(update={"validity": [*run.validity, by], "disturbance_allowed": allowed})


@pytest.mark.parametrize("allowed", [False, True])
def test_disturbed_runs_are_no_evidence_whoever_allowed_them(allowed: bool, tmp_path: Path) -> None:
    story = replace(SMALL, change=lambda run: disturbed(run, allowed=allowed) if run.block > 4 else run)
    found = verdict(tmp_path, write_bundle(tmp_path / "b", story), f'kind = "difference"\n{AT_8}is = "higher"')
    assert found.verdict == "inconclusive"
    assert "too few repetitions to compare (4, needs 5)" in found.why
    assert allowed or "4 of 12 runs were disturbed" in found.why


def test_four_repetitions_and_invalid_runs_decide_nothing(tmp_path: Path) -> None:
    few = write_bundle(tmp_path / "few", replace(SMALL, repetitions=4))
    test = f'kind = "difference"\n{AT_8}is = "higher"'
    assert "(4, needs 5)" in verdict(tmp_path, few, test).why
    broken = replace(SMALL, change=lambda run: invalid(run) if (run.cell, run.block) == ("c01", 1) else run)
    found = verdict(tmp_path, write_bundle(tmp_path / "broken", broken), test)
    assert found.verdict == "inconclusive"
    assert "were invalid" in found.why or "was invalid" in found.why


def test_zero_in_one_run_is_a_value_below_a_high_bound(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle", SMALL)
    (cell,) = (cell.id for cell in bundle.plan.cells if (cell.system, cell.threads) == ("flat", 1))
    next(run for run in bundle.runs if run.cell == cell).rate_ops_per_s = 0.0
    for high, expected in ((2000, "inconclusive"), (50_000, "reproduced")):
        assert verdict(tmp_path, bundle, f'kind = "level"\n{ALONE}high = {high}').verdict == expected
    assert verdict(tmp_path, bundle, f'kind = "level"\n{ALONE}high = 5000', "error_ratio").verdict == "reproduced"


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ('kind = "peak"\nover = "threads"\nwhere = { system = "hump", threads = [1, 2] }\nat = [4]', "threads = 4"),
        ('kind = "change"\nwhere = { system = "flat" }\nis = "falls"', "cannot be averaged"),
    ],
)
def test_what_a_test_cannot_be_of_is_refused(test: str, words: str, planted: Bundle, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=words):
        verdict(tmp_path, planted, test, "latency_p99" if "change" in test else "rate")


def test_one_system_that_fails_on_both_sides_is_no_evidence(tmp_path: Path) -> None:
    def failing(run: RunRecord) -> RunRecord:
        return invalid(run) if run.block == 1 else run

    bundle = write_bundle(tmp_path / "bundle", replace(SMALL, change=failing))
    found = verdict(tmp_path, bundle, 'kind = "trend"\nover = "threads"\nwhere = { system = "rising" }\nis = "rising"')
    assert (found.verdict, "invalid" in found.why) == ("inconclusive", True)


def test_no_error_in_any_run_is_no_error(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "b", SMALL)
    test = 'kind = "level"\nof = { system = "flat" }\nhigh = 0.0'
    assert verdict(tmp_path, bundle, test, "error_ratio").verdict == "reproduced"
    assert verdict(tmp_path, bundle, test.replace("high = 0.0", "low = 0.1"), "error_ratio").verdict == "contradicted"


@pytest.mark.parametrize(
    ("test", "measure", "says"),
    [
        ('kind = "difference"\nof = { sytem = "a" }\nagainst = { system = "flat" }\nis = "lower"', "rate", "`sytem`"),
        (f'kind = "difference"\n{AT_8.replace("rising", "risin")}is = "lower"', "rate", "system = risin"),
        (f'kind = "difference"\n{AT_8}is = "lower"', "raet", "raet"),
        ('kind = "trend"\nover = "time"\nis = "flat"', "error_ratio", "second by second"),
        (f'kind = "variability"\n{ALONE}at_most = 0.1\ninterval = "2s"', "latency_p99", "averaged"),
        ('kind = "trend"\nover = "threads"\nwhere = { threads = 1 }\nis = "flat"', "rate", "one level only"),
        (
            'kind = "difference"\nof = { threads = 1 }\nagainst = { threads = 1 }\nis = "lower"',
            "rate",
            "all else equal",
        ),
    ],
)
def test_a_claim_that_does_not_fit_its_plan_is_refused(
    test: str, measure: str, says: str, planted: Bundle, tmp_path: Path
) -> None:
    with pytest.raises(PlanError) as refused:
        verdict(tmp_path, planted, test, measure)
    assert says in refused.value.what
    assert "planted.toml, claim A" in refused.value.where


def test_a_system_that_the_machine_lacks_leaves_its_claims_open(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "b", replace(SMALL, skipped={"oracle": "it is not installed"}))
    test = 'kind = "difference"\nof = { system = "oracle" }\nagainst = { system = "flat" }\nis = "lower"'
    assert verdict(tmp_path, bundle, test).why == "oracle was skipped: it is not installed"


def test_a_claim_about_all_systems_is_open_where_one_was_skipped(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "b", replace(SMALL, skipped={"oracle": "it is not installed"}))
    for test in (
        'kind = "trend"\nover = "threads"\nis = "rising"',
        'kind = "trend"\nover = "threads"\neach = "system"\nis = "rising"',
        'kind = "independent"\nof = "system"\nwhere = { threads = 1 }',
    ):
        assert verdict(tmp_path, bundle, test).why == "oracle was skipped: it is not installed"
    assert verdict(tmp_path, bundle, f'kind = "difference"\n{AT_8}is = "higher"').verdict == "reproduced"


@pytest.mark.parametrize("scale", [1.0, 1e-4])
def test_a_run_that_lies_far_from_the_others_is_kept_whatever_the_unit(scale: float, tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "b", replace(SMALL, repetitions=8))
    far = next(cell.id for cell in bundle.plan.cells if (cell.system, cell.threads) == ("rising", 1))
    for run in bundle.runs:
        run.rate_ops_per_s *= scale / (100 if (run.cell, run.block) == (far, 3) else 1)
    test = f'kind = "level"\nof = {{ system = "rising", threads = 1 }}\nlow = {500 * scale}'
    assert verdict(tmp_path, bundle, test).verdict == "inconclusive"


def test_marked_runs_make_no_evidence_of_a_bundle(tmp_path: Path) -> None:
    story = replace(SMALL, change=lambda run: disturbed(run, allowed=True))
    bundle = write_bundle(tmp_path / "b", story)
    assert not PlanMeasured(Path("p.toml"), bundle.plan, {}).with_bundle(bundle).is_evidence
    clean = write_bundle(tmp_path / "clean", SMALL)
    assert PlanMeasured(Path("p.toml"), clean.plan, {}).with_bundle(clean).is_evidence


def test_of_several_measured_figures_each_has_its_sign(planted: Bundle, tmp_path: Path) -> None:
    tests = "".join(f'[[claims.tests]]\nkind = "difference"\n{AT_8}is = "{word}"\n' for word in ("higher", "lower"))
    text = CLAIM.format(id="A", measure="rate", test="").replace("[claims.test]\n", "") + tests
    (found,) = judged(tmp_path, planted, text).claims
    assert [words[:2] for words in parts_words(found)] == ["✓ ", "✗ "]
    alone = verdict(tmp_path, planted, f'kind = "difference"\n{AT_8}is = "higher"')
    assert parts_words(alone)[0].startswith("throughput of")
