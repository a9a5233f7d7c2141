"""The plan's workloads with a cell's levels in them, decided by the engine once for each set of options."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..errors import PlanError
from ..fleet.engine_program import resolve
from ..model.levels import LOAD
from ..model.records.plan import Scalar
from ..model.resolve import DriverRequest, Refused, Resolved, WorkloadRequest
from ..suggestions import meant
from ..workloads import workload_names, workloads
from ..workloads.base import Asked, Workload
from .document.source import Source
from .document.tables import MeasureTable, PlanDocument, WorkloadTable, keys_of
from .factors import Works


@dataclass(frozen=True)
class Question:
    """A workload of the plan with these levels, asked of this system."""

    workload: str
    system: str
    kind: str
    driver: DriverRequest
    levels: dict[str, Scalar]

    @property
    def key(self) -> str:
        return json.dumps([self.kind, self.driver.model_dump(mode="json"), self.levels], sort_keys=True)


class PlanWorkloads:
    """[workload], or all [workloads.NAME] by their names."""

    def __init__(self, document: PlanDocument, source: Source) -> None:
        self._tables = {
            name: PlanWorkload(table, ("workloads", name), document.seed, source)
            for name, table in document.workloads.items()
        }
        if document.workload is not None:
            self._tables[""] = PlanWorkload(document.workload, ("workload",), document.seed, source)

    @property
    def works(self) -> Works:
        return {name: table.options() for name, table in self._tables.items()}

    def ask(self, questions: Iterable[Question]) -> None:
        """Has all of them answered, which costs one process for each table."""
        by_table: dict[str, list[Question]] = {}
        for question in questions:
            by_table.setdefault(question.workload, []).append(question)
        for name, of_table in by_table.items():
            self._tables[name].ask(of_table)

    def resolve(self, question: Question) -> Workload:
        """Raises PlanError."""
        return self._tables[question.workload].resolve(question)


class PlanWorkload:
    """One table, with options added by factors."""

    def __init__(self, table: WorkloadTable, place: tuple[str, ...], seed: int, source: Source) -> None:
        """place: of the table in the plan."""
        kinds = workloads()
        if table.kind not in kinds:
            named = workload_names().get(table.kind)
            hint = f'write kind = "{named[0]}" and {kinds[named[0]].preset} = "{named[1]}"' if named else ""
            hint = hint or meant(table.kind, kinds)
            raise source.error(f"unknown workload `{table.kind}`", *place, "kind", hint=hint)
        self._place = place
        self._kind = kinds[table.kind]
        self._said: dict[str, Any] = dict(table.model_extra or {})
        self._seed = seed
        self._source = source
        self._answers: dict[str, Workload | PlanError] = {}
        for name in self._said.keys() - set(self._kind.option_names):
            for elsewhere, known in (("at the top of the plan", LOAD), ("in [measure]", keys_of(MeasureTable))):
                if name in known:
                    hint = f"`{name}` belongs {elsewhere}"
                    raise source.error(f"unknown key `{name}`", *place, name, hint=hint)

    def options(self) -> list[str]:
        return self._kind.option_names

    def ask(self, questions: Iterable[Question]) -> None:
        """Has those answered that have not been."""
        new = {question.key: question for question in questions if question.key not in self._answers}
        asked: dict[str, Asked] = {}
        for key, question in new.items():
            try:
                asked[key] = self._read(question)
            except PlanError as error:
                self._answers[key] = error
        requests = [self._request(new[key], one) for key, one in asked.items()]
        for (key, one), answer in zip(asked.items(), resolve(requests), strict=True):
            if isinstance(answer, Refused):
                self._answers[key] = self._refusal(answer, new[key], one)
            else:
                assert isinstance(answer, Resolved)
                told = {**answer.model_dump(), "advice": [*one.advice, *answer.advice]}
                self._answers[key] = Workload(**told, hints=one.hints, sources=one.sources)

    def resolve(self, question: Question) -> Workload:
        """Raises PlanError."""
        self.ask([question])
        answer = self._answers[question.key]
        if isinstance(answer, PlanError):
            raise answer
        return answer

    def _request(self, question: Question, asked: Asked) -> WorkloadRequest:
        """Which is refused by the name that the plan has for the system's kind."""
        driver = question.driver.model_copy(update={"system": question.kind})
        return WorkloadRequest(
            kind=self._kind.kind, options=asked.options, file=asked.file, driver=driver, seed=self._seed
        )

    def _read(self, question: Question) -> Asked:
        table = f"[{'.'.join(self._place)}]"
        for name in question.levels.keys() & self._said.keys():
            raise self._source.error(
                f"`{name}` is set twice, as a factor and in {table}",
                *(*self._place, name),
                hint=f"remove it from {table}",
            )
        options = {**self._said, **question.levels}
        try:
            return self._kind.read(options, self._source.base_dir)
        except PlanError as error:
            if not error.where:
                about = next((name for name in options if f"`{name}`" in error.what), "")
                error.where = self._where(about, question)
            raise

    def _refusal(self, answer: Refused, question: Question, asked: Asked) -> PlanError:
        option = answer.where.removeprefix("workload").removeprefix(".")
        if answer.where.split(".")[0] == "driver":
            of_driver = answer.where.removeprefix("driver").removeprefix(".")
            place = self._source.where(self._source.place_of_option(question.system, of_driver))
        elif asked.file is not None and option in asked.file.options and option not in asked.options:
            place = f"{asked.file.name}, as `{option}`"
        else:
            place = self._where(option, question)
        hint = answer.hint
        if isinstance(self._said.get(option), list) and not self._takes_a_list(option):
            hint = "; ".join(filter(None, [hint, f"to vary it, write `{option}` in [factors]"]))
        return PlanError(answer.what, where=place, hint=hint)

    def _takes_a_list(self, option: str) -> bool:
        return any(one.name == option and one.values.startswith("a list") for one in self._kind.options)

    def _where(self, option: str, question: Question) -> str:
        """Of an option that is in the table or is a factor."""
        place = ("factors", option) if option in question.levels else self._place
        if option in self._said:
            place = (*self._place, option)
        return self._source.where(place)
