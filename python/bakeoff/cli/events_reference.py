"""The reference page of events: `python -m bakeoff.cli.events_reference > docs/reference/events.md`."""

from __future__ import annotations

from collections.abc import Iterator

from ..model.boundary import Document
from .told import EVENTS, EVENTS_FORMAT

_HEAD = f"""\
# Events

`bakeoff run my.toml --events` tells what happens as JSON lines on standard output, for other programs; what people see
goes to standard error. Made from the program's own models by `make docs`.

The first line is `begin`, the last one `done`; a plan that is refused before anything begins has no lines, and its
sentence is on standard error. `format` in `begin` is {EVENTS_FORMAT}: nothing here is taken away or gets another
meaning without a greater one. New events and new fields may come without it: pass over what you do not know. All text
is ASCII with JSON's escapes.

```text
bakeoff run my.toml --events | jq -r 'select(.event == "interval") | [.run, .second, .rate_ops_per_s] | @tsv'
```
"""


def page() -> str:
    return "\n".join([_HEAD, *(line for event in EVENTS for line in _section(event))])


def _section(event: type[Document]) -> Iterator[str]:
    fields = event.model_json_schema()["properties"]
    yield f"## `{fields['event']['const']}`\n"
    yield f"{event.__doc__}\n"
    yield "| field | type | meaning |\n|---|---|---|"
    for name, field in fields.items():
        if name != "event":
            yield f"| `{name}` | {_type(field)} | {field.get('description', '')} |"
    yield ""


def _type(field: dict[str, object]) -> str:
    """ "number", "list of CellTold", "string or null"."""
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


if __name__ == "__main__":
    print(page(), end="")
