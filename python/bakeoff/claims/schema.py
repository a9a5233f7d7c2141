"""JSON Schema of claims, for editors: types from the models of `document`, words from the reference page. `make docs`
writes it to `claims.schema.json` in this folder."""

from __future__ import annotations

import json
from pathlib import Path

from ..plan.schema import DRAFT, Meanings, described, of_model
from .document import TABLES, Article

SCHEMA = Path(__file__).with_name("claims.schema.json")


def schema_text(meanings: Meanings) -> str:
    """meanings: by the place of a table, see `document.TABLES`."""
    root = of_model(Article)
    tables = root.pop("$defs")
    for place, model in TABLES.items():
        words = meanings[place]
        table = tables[model.__name__] if place else root
        table["properties"] = described(table["properties"], words)
    schema = {"$schema": DRAFT, "title": "bakeoff claims", **root, "definitions": tables}
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
