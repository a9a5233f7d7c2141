"""What the documents say is so: commands exist, links lead somewhere, the reference is the program's own."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
from bakeoff.cli import parser
from bakeoff.cli.reference import pages, walk
from bakeoff.systems import SYSTEMS
from bakeoff.systems.options import workloads_of
from bakeoff.workloads import workloads

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [path for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")] if "node_modules" not in path.parts]
COMMAND = re.compile(r"^\s*(bakeoff(?: [^#\n]*)?)", re.MULTILINE)


def commands() -> list[tuple[str, str]]:
    found = []
    for path in DOCUMENTS:
        for block in re.findall(r"```(?:sh|console|bash)\n(.*?)```", path.read_text(), re.DOTALL):
            found += [(path.name, line.strip()) for line in COMMAND.findall(block) if "..." not in line]
    return found


def test_pages_that_are_made_from_the_program_are_as_it_makes_them() -> None:
    made = pages(ROOT / "docs")
    assert {path.stem for path in made} >= {"cli", "mariadb", "ycsb"}
    for path, text in made.items():
        assert path.read_text() == text, f"{path.name}: run `make docs`"


def test_every_file_names_the_same_version() -> None:
    named = {
        "pyproject.toml": r'^version = "(.*)"$',
        "Cargo.toml": r'^version = "(.*)"$',
        "python/bakeoff/__init__.py": r'^__version__ = "(.*)"$',
        "CITATION.cff": r"^version: (.*)$",
        "CHANGELOG.md": r"^## (\d+\.\d+\.\d+) \(",
    }
    found = {name: re.findall(line, (ROOT / name).read_text(), re.MULTILINE)[:1] for name, line in named.items()}
    assert list(found.values()) == [found["pyproject.toml"]] * len(found), found


@pytest.mark.parametrize(("document", "line"), commands(), ids=lambda value: str(value)[:60])
def test_every_documented_command_is_understood(document: str, line: str) -> None:
    words = shlex.split(line.removeprefix("bakeoff"))
    if words:
        parser().parse_args(words)


def links() -> list[tuple[Path, str]]:
    found = [
        (path, target)
        for path in DOCUMENTS
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL))
        if not re.match(r"[a-z]+:", target)
    ]
    return list(dict.fromkeys(found))


def anchors(page: Path) -> set[str]:
    """Of its headings, as GitHub makes them."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    heads = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", head) for head in re.findall(r"^#+ (.*)$", text, re.MULTILINE)]
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize(("path", "target"), links(), ids=lambda value: Path(value).name)
def test_every_link_leads_to_a_file_and_a_heading_of_it(path: Path, target: str) -> None:
    name, _, anchor = target.partition("#")
    page = path.parent / name if name else path
    assert page.exists()
    assert not anchor or page.suffix != ".md" or anchor in anchors(page), f"no heading makes #{anchor}"


def test_every_page_is_reached_from_the_index() -> None:
    reached, left = set[Path](), [ROOT / "docs/index.md"]
    while left:
        page = left.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            left += [(path.parent / target.partition("#")[0]).resolve() for path, target in links() if path == page]
    assert not {path for path in DOCUMENTS if "docs" in path.relative_to(ROOT).parts} - reached


def test_the_menu_of_the_site_has_every_page() -> None:
    listed = re.findall(r"^ +- (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(
        path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")
    )


#: The others are as long as what the tool prints.
SHORT = [
    page for page in DOCUMENTS if page.name not in {"tutorial.md", "questions.md"} and page.parent.name != "articles"
]


@pytest.mark.parametrize("page", SHORT, ids=lambda page: page.name)
def test_a_page_is_short(page: Path) -> None:
    """Of the changelog, what a version has."""
    is_log = page.name == "CHANGELOG.md"
    for part in page.read_text().split("\n## ") if is_log else [page.read_text()]:
        assert len([word for word in part.split() if word.strip("|-")]) <= 2000


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.name)
def test_a_cell_of_a_table_is_short(page: Path) -> None:
    rows = re.findall(r"^ *\|.*", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL), re.MULTILINE)
    cells = [cell for row in rows for cell in re.split(r"(?<!\\)\|", row)]
    assert [cell for cell in cells if len(cell.split()) > 40] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs/method").glob("*.md")), ids=lambda page: page.name)
def test_a_page_of_methods_is_listed(page: Path) -> None:
    assert page.name == "README.md" or f"]({page.name})" in (page.parent / "README.md").read_text()


def plans_of_pages() -> list[tuple[str, str]]:
    return [
        (path.stem, block)
        for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
        for block in re.findall(r"```toml\n(.*?)```", path.read_text(), re.DOTALL)
        if "title =" in block or ("\n[workload]" in block and "[systems." in block)
    ]


@pytest.mark.parametrize(("page", "block"), plans_of_pages(), ids=lambda value: str(value)[:60])
def test_every_plan_of_a_page_is_a_file_that_comes_with_bakeoff(page: str, block: str) -> None:
    """Those are dry-run by tests/unit/test_plan_reference.py, and of claims by test_claims_document.py. Comments may
    differ."""
    folders = (ROOT / "plans", ROOT / "claims")
    plans = [tomllib.loads(path.read_text()) for folder in folders for path in folder.rglob("*.toml")]
    assert tomllib.loads(block) in plans


def test_the_list_of_examples_has_every_example() -> None:
    folder = ROOT / "plans/examples"
    listed = re.findall(r"\]\(([^)]+\.toml)\)", (folder / "README.md").read_text())
    assert sorted(listed) == sorted(str(path.relative_to(folder)) for path in folder.rglob("*.toml"))


def test_the_workflow_of_the_regression_check_has_all_that_its_steps_use() -> None:
    page = (ROOT / "docs/howto/regression-check.md").read_text()
    (workflow,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    source, toolchain, install = "path: bakeoff-source", "uses: dtolnay/rust-toolchain", "pip install ./bakeoff-source"
    assert workflow.index(source) < workflow.index(toolchain) < workflow.index(install)
    lines = re.findall(r"venv/bin/bakeoff (.*)", workflow)
    assert [line.split()[0] for line in lines] == ["systems", "run"]
    for line in lines:
        parser().parse_args(shlex.split(line))


def test_every_command_has_json_and_an_example() -> None:
    commands = {name: one.format_help() for name, one in walk("bakeoff", parser()) if name.count(" ") == 1}
    assert {"bakeoff run", "bakeoff compare"} <= commands.keys()
    for name, text in commands.items():
        assert "--json" in text, name
        assert "example" in text, name


def test_the_pages_of_workloads_list_the_systems_that_they_run_on() -> None:
    """As the engine has them, Galera included, which runs on MariaDB's driver."""
    for kind in workloads():
        (line,) = re.findall(
            r"^Runs on (.*)\.$", (ROOT / f"docs/reference/workloads/{kind}.md").read_text(), re.MULTILINE
        )
        listed = re.findall(r"\[([\w-]+)\]", line)
        assert listed == [name for name, system in SYSTEMS.items() if kind in workloads_of(system.driver)]
        assert ("galera" in listed) == ("mariadb" in listed)
