"""Pages of the documents that are made from the program itself: `python -m bakeoff.cli.reference docs` writes them."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from .. import __version__
from ..analysis.registry import METRICS
from ..bundle.events import EVENTS, EVENTS_FORMAT
from ..claims import document as claims_document
from ..claims import schema as claims_schema
from ..model.boundary import Document
from ..model.isolation import GALERA, MEANINGS, Meaning
from ..model.resolve import Described
from ..plan.new_plan import SCHEMA
from ..plan.schema import Meanings, schema_text
from ..report.words.meanings import CERTAINTIES, CHECKS, DOUBTS, OTHER_ROWS, PROMISES, VERDICTS
from ..report.words.meanings import Meaning as Named
from ..systems import SYSTEMS
from ..systems.options import options_of, workloads_of
from ..systems.survey import COLUMNS, PAGES, survey
from ..verify.isolation import SCHEDULES
from ..workloads import workloads
from . import parser

_METRICS_HEAD = """\
# Metrics

Figures that summarise a run in one number. Generated from the program's own list by `make docs`.

Use any of them as the `objective` of a plan or of `bakeoff compare`, in a threshold (`--fail-if "latency_p99 > 10%"`),
as a column of `bakeoff export`, or as a column and a chart of `bakeoff report --metric`.

If the last column says so, append an operation: `latency_p99.read` is the p99 of reads. Any percentile
works: `latency_p97`, and `latency_p9999` for 99.99 %. Server and machine metrics (the columns of a run's
server.parquet) are metrics too, by their mean over the window: `db.Threads_running`, `os.write_bytes_per_s`.

A workload may count some operations in a rate of its own (`new_orders_per_minute` of TPC-C), which its
page names. Such a rate is in every report of the workload and works like any metric. Runs of
other workloads have no value for it, not zero.

| metric | unit | better | meaning | of one operation |
|---|---|---|---|---|
"""


_EVENTS_HEAD = f"""\
# Events

`bakeoff run my.toml --events` reports progress as JSON lines on standard output, for other programs; text for people
goes to standard error. Generated from the program's own models by `make docs`.

The first line is `begin`, the last one `done`. A plan that is refused before anything begins has no lines; its
message is on standard error. `format` in `begin` is {EVENTS_FORMAT}: nothing here is removed or changes its
meaning without a higher number. New events and fields may appear without one: ignore what you do not know. All text
is ASCII with JSON's escapes.

```text
bakeoff run my.toml --events | jq -r 'select(.event == "interval") | [.run, .second, .rate_ops_per_s] | @tsv'
```
"""


_ISOLATION_HEAD = """\
# Isolation: what a level means in each product

One name of a level is not one thing. Where systems that are compared do not mean the same by the level that they ran
at, or ran at different ones (each at its own default, say), the report says so in a sentence: among its first lines
where the plan names a level, or where operations failed or were aborted, else under "What this does not show". Two
products with the same words here get no sentence. Made from the program's own table by `make docs`.

The level is that of the sessions, and settings are what the server says that they are. What follows from a level is
measured: the [comparison](not-compared.md#what-failed-for-good) says what failed for good on either side.

| product | level | where | a transaction there | anomalies that this does not exclude | source |
|---|---|---|---|---|---|
"""


_SCHEDULES_HEAD = """
## What `bakeoff verify` runs

`bakeoff verify PLAN` has two or three sessions carry out each of these schedules on a table of two rows, and compares
what happened with the anomalies in the table above: *VIOLATED* is an anomaly that the vendor's words exclude, *HELD*
is none of those, *OBSERVED* is a level of which bakeoff knows no promise. A statement without an answer for 20 ms, in
which the server has answered another session ten times, waits for a lock (a commit: without an answer for 0.35 s); the
other sessions go on, and what its session does next follows its answer. A session whose statement fails rolls back.
Only what committed transactions saw and left counts, so a rule holds in whatever order the statements were carried out.
Each schedule runs three times; where tries differ, the outcome depends on timing.

*Cannot tell:* that an anomaly can never happen. HELD means that these schedules did not provoke one, on one node.

| schedule | anomaly |
|---|---|
"""


_GALERA = """
*Updates can be lost*: of two transactions that read a row and write back what they computed from it, the second one
overwrites what the first one wrote, unless they read with `FOR UPDATE`. Where one snapshot is seen the second one is
aborted; but two that each change what only the other one read may both commit (write skew), which `serializable` alone
prevents.

A Galera cluster adds to what MariaDB's own level means: {words} ([source]({source})). So its
`serializable` is that of one node.

Own defaults: `repeatable-read` in MariaDB, MySQL, Percona Server and Galera, `read-committed` in PostgreSQL,
`serializable` in SQLite, redb, LMDB and fjall, `read-committed` in RocksDB. The embedded ones have no other.

*Cannot tell:* what a session did itself (`BEGIN ISOLATION LEVEL` in your own SQL), or whether your application notices.
Transactions of one statement meet few of these differences.
"""


_SURVEY_HEAD = """\
# Survey of systems

What each system promises, in its own documentation's terms, for whoever chooses which ones to compare. It brings the
survey of eventually consistent stores in the article on MariaDB 10.1 and MySQL 5.7 up to date, and adds the other
systems that bakeoff knows. Made from `python/bakeoff/systems/survey.toml` by `make docs`; `bakeoff systems --survey`
prints it, with `--json` for programs.

A promise is no measurement: below are the columns that bakeoff tests, and with what. A *peer* speaks a product's
protocol and [says nothing about its speed](plan/systems.md#peers-and-emulators).

| system | data model | driver here |
|---|---|---|"""

_SURVEY_TESTS = """
| column | what bakeoff tests of it |
|---|---|"""


#: Tables of options in pages that are else written by hand stand between such marks.
_MARKED = re.compile(r"(<!-- (\w+): made by `make docs` -->\n).*?(<!-- end -->)", re.DOTALL)


#: Where the keys of each table of a plan are explained: page and heading.
PLAN_TABLES: dict[tuple[str, ...], tuple[str, str]] = {
    (): ("plan", "## Top of the file"),
    ("prices",): ("plan", "## Prices"),
    ("systems", "*"): ("plan/systems", "# `[systems.NAME]`"),
    ("workload",): ("plan/workload", "# `[workload]`"),
    ("workloads", "*"): ("plan/workload", "# `[workload]`"),
    ("factors",): ("plan/factors", "## `[factors]`: what varies"),
    ("measure",): ("plan/measure", "# `[measure]`"),
    ("measure", "pacing"): ("plan/measure", "## Pacing"),
    ("measure", "pacing", "stages"): ("plan/measure", "### Stages"),
    ("measure", "think_time"): ("plan/measure", "## Think time"),
    ("measure", "retry"): ("plan/measure", "## Retry"),
    ("measure", "placement"): ("plan/measure", "## Placement"),
    ("compare",): ("plan/compare", "# `[compare]`"),
    ("search",): ("plan/search", "# `[search]`"),
    ("faults",): ("plan/faults", "# `[[faults]]`"),
    ("verify",): ("plan/verify", "# `[verify]`"),
    ("fleet",): ("plan/fleet", "# `[fleet]`"),
    ("fleet", "tls"): ("plan/fleet", "## TLS"),
    ("fleet", "kubernetes"): ("plan/fleet", "## Kubernetes"),
    ("fleet", "slurm"): ("plan/fleet", "## Slurm"),
}


def pages(docs: Path) -> dict[Path, str]:
    """Each made page, or page with made tables, and its text as it must be; and the schema of plans, which takes its
    words from the pages."""
    reference = docs / "reference"
    found = {
        SCHEMA: schema_text(plan_meanings(reference)),
        claims_schema.SCHEMA: claims_schema.schema_text(claims_meanings(reference)),
        **commands_pages(reference),
        reference / "bakeoff.1": man_page(),
        reference / "metrics.md": metrics_page(),
        reference / "events.md": events_page(),
        reference / "messages.md": messages_page(),
        reference / "survey.md": survey_page(),
        **{reference / f"survey/{name}.md": surveyed_page(name) for name in PAGES},
        docs / "method/isolation.md": isolation_page(),
    }
    for kind, workload in workloads().items():
        tables = {
            "options": options_table(workload.options, preset=workload.preset),
            "presets": presets_table(workload.presets),
            "systems": systems_line(kind),
        }
        page = reference / "workloads" / f"{kind}.md"
        found[page] = with_tables(page.read_text(), tables)
    for kind, system in SYSTEMS.items():
        page = reference / "systems" / f"{kind}.md"
        found[page] = with_tables(page.read_text(), {"driver": options_table(options_of(system.driver))})
    return found


_MESSAGES_HEAD = """\
# Messages: words of a report, and what to do

Search this page for the word that you saw. Made from the program's own list by `make docs`. More on
[disturbance](../method/disturbance.md), [the client as the limit](../method/client-verdict.md) and
[steady state](../method/steady-state.md).
"""


def messages_page() -> str:
    lines = [_MESSAGES_HEAD, "## Verdicts of a comparison\n", *_meanings(VERDICTS)]
    lines += ["## Verdicts of sweeps, limits, searches and faults\n", *_meanings(OTHER_ROWS)]
    lines += ["## Promises\n", *_meanings(PROMISES)]
    lines += ["## How certain an answer is\n", *_meanings(CERTAINTIES)]
    lines += ["## What speaks against an answer\n", *_meanings(DOUBTS), "## What speaks against a run\n"]
    for severity, checks in CHECKS.items():
        name, _, rest = severity.partition(": ")
        lines += [f"### {name[:1].upper()}{name[1:]}\n", f"{rest[:1].upper()}{rest[1:]}.\n", *_meanings(checks)]
    return "\n".join(lines)


def _meanings(meanings: Sequence[Named]) -> Iterator[str]:
    examples = any(one.example for one in meanings)
    yield "| word | what it says |" + (" example |" if examples else "") + " what to do |"
    yield "|---|---|---|" + ("---|" if examples else "")
    for one in meanings:
        example = [f"*{one.example}*" if one.example else ""] if examples else []
        yield f"| {' | '.join([one.name, one.says, *example, one.do])} |"
    yield ""


def commands_pages(reference: Path) -> dict[Path, str]:
    """One page for each command and one that lists them. Help is formatted for 100 columns whatever the terminal."""
    os.environ["COLUMNS"] = "100"
    found: dict[Path, list[str]] = {}
    for name, one in walk("bakeoff", parser()):
        words = name.split()
        path = reference / "cli" / f"{words[1]}.md" if len(words) > 1 else reference / "cli.md"
        heading = "#" if path not in found else "##"
        found.setdefault(path, []).append(f"{heading} `{name}`\n\n```text\n{one.format_help().rstrip()}\n```\n")
    links = ", ".join(f"[{path.stem}](cli/{path.name})" for path in found if path.parent.name == "cli")
    found[reference / "cli.md"].append(f"A page for each: {links}. Generated from the help by `make docs`.\n")
    return {path: "\n".join(parts) for path, parts in found.items()}


def man_page() -> str:
    """Without a date, which would be that of the last `make docs`."""
    from argparse_manpage.manpage import Manpage

    os.environ["COLUMNS"] = "100"
    data = {"version": __version__, "manual_title": "User Commands", "description": "compare databases", "date": " "}
    return str(Manpage(parser(), data))


def walk(name: str, one: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    yield name, one
    for action in one._actions:
        if isinstance(action, argparse._SubParsersAction):
            for verb, inner in action.choices.items():
                yield from walk(f"{name} {verb}", inner)


def plan_meanings(reference: Path) -> Meanings:
    """What the pages say of the keys of a plan, as plain text."""
    found = {
        place: keys_of_table((reference / f"{page}.md").read_text().split(f"{heading}\n", 1)[1])
        for place, (page, heading) in PLAN_TABLES.items()
    }
    servers = keys_of_table((reference / "systems/servers.md").read_text())
    for kind, system in SYSTEMS.items():
        own = [keys_of_table(page.read_text()) for page in sorted((reference / "systems").glob(f"{kind}*.md"))]
        of_servers = {} if system.capabilities().embedded else servers
        found["systems", kind] = {key: words for table in (of_servers, *own) for key, words in table.items()}
    return found


def claims_meanings(reference: Path) -> Meanings:
    """What the page says of the keys of claims: a heading for each table and each kind of test."""
    text = (reference / "claims.md").read_text()
    heads = {(): "Top of the file", ("claims",): "`[[claims]]`", ("slips",): "`[[slips]]`"}
    common = keys_of_table(text.split("## Tests\n", 1)[1])
    found = {}
    for place in claims_document.TABLES:
        part = text.split(f"# {heads.get(place) or f'`{place[-1]}`'}\n", 1)[1].split("\n## ")[0].split("\n### ")[0]
        found[place] = keys_of_table(part) | (common if place[:1] == ("tests",) else {})
    return found


def keys_of_table(text: str) -> dict[str, str]:
    """Of the first table of keys: a row may be about several."""
    table = re.search(r"^\| (?:key|factor)\b.*\n\|[-|]+\|\n((?:\|.*\n)*)", text, re.MULTILINE)
    rows = [row.strip("| ").split(" | ") for row in (table[1] if table else "").splitlines()]
    return {key: _plain_words(*cells) for keys, *cells in rows for key in re.findall(r"`([^`]+)`", keys)}


def _plain_words(meaning: str, default: str = "") -> str:
    """Without links, which lead nowhere outside the page."""
    meaning, default = (
        re.sub(r"\[(`[^`]*`|[^]]+)\]\([^)]*\)", r"\1", _POINTERS.sub("", cell)).strip(" |")
        for cell in (meaning, default)
    )
    if default == "required":
        return f"{meaning} (required)"
    return f"{meaning} (default: {default})" if default else meaning


#: Where a cell only points further down its page.
_POINTERS = re.compile(r"[,:]? ?(see )?\[(see )?(below|there)\]\([^)]*\)| \(\[how\]\([^)]*\)\)|^see (below|there)$")


def metrics_page() -> str:
    rows = [f"| `{m.name}` | {m.unit} | {m.better} | {m.about} | {'yes' if m.of_operation else ''} |" for m in METRICS]
    return _METRICS_HEAD + "\n".join(rows) + "\n"


def isolation_page() -> str:
    words = _GALERA.format(words=GALERA.words, source=GALERA.source)
    schedules = [f"| {name} | {about} |" for name, about in SCHEDULES.items()]
    rows = "\n".join(map(_meaning_row, MEANINGS))
    return f"{_ISOLATION_HEAD}{rows}\n{words}{_SCHEDULES_HEAD}" + "\n".join(schedules) + "\n"


def _meaning_row(one: Meaning) -> str:
    levels = ", ".join(f"`{level}`" for level in one.levels)
    cells = [", ".join(one.products), levels, one.where, one.words, ", ".join(one.allows) or "none"]
    return f"| {' | '.join(cells)} | [source]({one.source}) |"


def survey_page() -> str:
    """An overview, and what is tested of each column."""
    found = survey()
    overview = [
        f"| [{one.name}](survey/{one.page}.md#{_anchor(one.name)}) | {one.data_model} | {one.driver} |"
        for one in found.system
    ]
    tested = [f"| {COLUMNS[column]} | {words} |" for column, words in found.tests.items()]
    return "\n".join([_SURVEY_HEAD, *overview, _SURVEY_TESTS, *tested]) + "\n"


def surveyed_page(name: str) -> str:
    """A table for each of its systems."""
    lines = [f"# Survey: {PAGES[name]}\n\nPart of [the survey of systems](../survey.md), which says how it is made."]
    for one in survey().system:
        if one.page == name:
            lines += [f"\n## {one.name}\n", "| | | source |", "|---|---|---|"]
            lines += [f"| {head} | {one.cell(key)} | {_linked(one.source(key))} |" for key, head in COLUMNS.items()]
            lines.append(f"| driver here | {one.driver} | |")
    return "\n".join(lines) + "\n"


def _anchor(head: str) -> str:
    return head.lower().replace(" ", "-")


def _linked(source: str) -> str:
    return f"[source]({source})" if source.startswith("http") else source


def events_page() -> str:
    return "\n".join([_EVENTS_HEAD, *(line for event in EVENTS for line in _event_section(event))])


def _event_section(event: type[Document]) -> Iterator[str]:
    fields = event.model_json_schema()["properties"]
    yield f"## `{fields['event']['const']}`\n"
    yield f"{event.__doc__}\n"
    yield "| field | type | meaning |\n|---|---|---|"
    for name, field in fields.items():
        if name != "event":
            yield f"| `{name}` | {_type(field)} | {field.get('description', '')} |"
    yield ""


def _type(field: dict[str, object]) -> str:
    """ "number", "list of CellDescription", "string or null"."""
    if isinstance(among := field.get("anyOf"), list):
        return " or ".join(_type(one) for one in among)
    if "enum" in field:
        return " or ".join(f"`{value}`" for value in _listed(field["enum"]))
    if isinstance(name := field.get("$ref"), str):
        return f"object ({name.rpartition('/')[2]})"
    if isinstance(items := field.get("items"), dict):
        return f"list of {_type(items)}"
    return str(field.get("type", "any"))


def _listed(values: object) -> list[object]:
    return values if isinstance(values, list) else []


def with_tables(text: str, tables: dict[str, str]) -> str:
    return _MARKED.sub(lambda mark: f"{mark[1]}{tables[mark[2]]}{mark[3]}", text)


def options_table(options: Iterable[Described], *, preset: str = "") -> str:
    """`preset`: the option whose names have a table of their own, above this one."""
    rows = [
        f"| `{o.name}` | {_default(o.default)} | {'see above' if o.name == preset else o.values} | {o.meaning} |\n"
        for o in options
    ]
    return "".join(["| option | default | values | meaning |\n|---|---|---|---|\n", *rows])


def presets_table(presets: dict[str, str]) -> str:
    rows = [f"| `{name}` | {words} |\n" for name, words in presets.items()]
    return "".join(["| preset | |\n|---|---|\n", *rows])


def systems_line(workload: str) -> str:
    """Kinds of systems that a workload runs on: whose driver takes it."""
    found = [kind for kind, system in SYSTEMS.items() if workload in workloads_of(system.driver)]
    return f"Runs on {', '.join(f'[{kind}](../systems/{kind}.md)' for kind in found)}.\n"


#: Characters of a default in a table.
_DEFAULT_MAX = 200


def _default(value: Any) -> str:
    """As a plan would write it."""
    if len(json.dumps(value)) > _DEFAULT_MAX:
        return "see the text"
    if not isinstance(value, dict):
        return "none" if value in (None, []) else f"`{json.dumps(value)}`"
    parts = {name: part for name, part in value.items() if part not in (None, {}, [])}
    if parts.keys() <= {"kind"}:
        return _default(parts.get("kind"))
    return f"`{{ {', '.join(f'{name} = {json.dumps(part)}' for name, part in parts.items())} }}`"


if __name__ == "__main__":
    for path, text in pages(Path(sys.argv[1])).items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
