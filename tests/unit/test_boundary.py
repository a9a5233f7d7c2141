"""The Python mirror of the boundary says what the Rust source says: by field names, and by the example files."""

import json
from pathlib import Path
from typing import Any

import pytest
from bakeoff.model import boundary, resolve
from bakeoff.model.boundary import EVENT, RunSpec
from bakeoff.model.resolve import ANSWER, DriverRequest, PreviewRequest, WorkloadRequest, WriteEventsRequest

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "schema"


def definitions(name: str) -> dict[str, Any]:
    """Every object of a schema by its name, the top one included."""
    schema = json.loads((SCHEMA / name).read_text())
    return {**schema.get("$defs", {}), schema.get("title", ""): schema}


def fields(schema: dict[str, Any]) -> set[str]:
    return set(schema.get("properties", {}))


DOCUMENTS = ("run", "event", "request", "answer")
RUST = {name: found for document in DOCUMENTS for name, found in definitions(f"{document}.schema.json").items()}
MIRRORED = {
    name: model
    for name, model in (vars(boundary) | vars(resolve)).items()
    if isinstance(model, type) and issubclass(model, boundary.Document) and model is not boundary.Document
}
#: Variants of a tagged enum have no name of their own in the schema; the examples cover them.
VARIANTS = {
    *("Closed", "Thinking", "Open", "TimeLimit", "OperationsLimit", "Refused", "RoleRoute", "NameRoute"),
    *("IsolationExperiment", "TransactionsExperiment", "StalenessExperiment", "ConvergenceExperiment", "StepAnswer"),
    *("LedgerExperiment", "LedgerFoundExperiment"),
}
RENAMED = {"HistogramDoc": "Histogram"}
TAGS = {"event", "answer"}


@pytest.mark.parametrize("name", sorted(set(MIRRORED) - VARIANTS))
def test_every_mirrored_document_has_the_fields_of_the_rust_type(name: str) -> None:
    rust = RUST[RENAMED.get(name, name)]
    mirrored = {f.alias or n for n, f in MIRRORED[name].model_fields.items()} - TAGS
    assert mirrored == fields(rust) - TAGS


def test_every_object_that_the_engine_writes_is_mirrored() -> None:
    events = definitions("event.schema.json")
    known = {RENAMED.get(name, name) for name in MIRRORED}
    objects = {name for name, schema in events.items() if schema.get("type") == "object" and name not in ("", "Event")}
    assert objects <= known


@pytest.mark.parametrize("path", sorted((SCHEMA / "examples").glob("*.json")), ids=lambda p: p.name)
def test_examples_are_read_and_written_back_unchanged(path: Path) -> None:
    document = json.loads(path.read_text())
    if "event" in document:
        again = EVENT.validate_python(document).model_dump(by_alias=True)
        again.setdefault("event", document["event"])
    elif "answer" in document:
        again = ANSWER.validate_python(document).model_dump()
    elif "ask" in document:
        ask = document.pop("ask")
        (kind,) = (
            kind for kind in (DriverRequest, WorkloadRequest, PreviewRequest, WriteEventsRequest) if kind.ask == ask
        )
        again = kind.model_validate(document).model_dump()
    else:
        again = RunSpec.model_validate(document).model_dump(by_alias=True)
        again = {key: value for key, value in again.items() if key in document}
    assert again == document


def test_an_unknown_key_is_refused() -> None:
    document = {"phase": "run", "driver": {}, "workload": {}, "warmup_s": 3}
    with pytest.raises(ValueError, match="warmup_s"):
        RunSpec.model_validate(document)
