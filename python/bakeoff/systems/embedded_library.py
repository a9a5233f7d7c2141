"""What embedded systems have in common whose shared library the engine loads: which one, and its own settings."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field, model_validator

from bakeoff.errors import BakeoffError, PlanError
from bakeoff.provision.installation import Installation, Sources
from bakeoff.systems.base import Configuration, System
from bakeoff.systems.embedded import EmbeddedStore, StoreOptions
from bakeoff.systems.options import LibrarySettings, read_own


class LibraryOptions(StoreOptions):
    version: str | None = None
    source: str | None = None
    library: str | None = None
    settings: LibrarySettings = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_library(self) -> LibraryOptions:
        if self.library is not None and (self.version or self.source) is not None:
            raise ValueError("`library` excludes `version` and `source`")
        return self


class LibraryStore(EmbeddedStore):
    installed_from: ClassVar[Sources]

    def __init__(self, asked: Configuration, options: StoreOptions) -> None:
        super().__init__(asked, options)
        assert isinstance(options, LibraryOptions)
        self._own = options
        self._library = (asked.base_dir / options.library).absolute() if options.library else None
        self._found: Installation | None = None

    @classmethod
    def options_model(cls) -> type[LibraryOptions]:
        return LibraryOptions

    @classmethod
    def sources(cls) -> Sources:
        return cls.installed_from

    @classmethod
    def in_one_spelling(cls, options: dict[str, Any], where: str) -> dict[str, Any]:
        """Unlike other embedded systems it has versions."""
        versions = {key: options[key] for key in ("version",) if key in options}
        rest = {key: value for key, value in options.items() if key not in versions}
        return {**super().in_one_spelling(rest, where), **versions}

    @classmethod
    def configure(cls, asked: Configuration) -> System:
        system = super().configure(asked)
        assert isinstance(system, LibraryStore)
        cls.sources().refuse_unknown(system._own.source, f"{asked.where}.source")
        return system

    @classmethod
    def available(cls, options: dict[str, Any]) -> str | None:
        read = read_own(cls.options_model(), options, cls.kind)
        if read.library is not None:
            return None
        cls.sources().refuse_unknown(read.source, f"systems.{cls.kind}.source")
        try:
            cls.sources().find(read.version, read.source)
        except BakeoffError as error:
            return f"{error.what} ({error.hint})" if error.hint else error.what
        return None

    def start(self) -> None:
        if self._library is None and self._found is None:
            self._found = self.sources().find(self._own.version, self._own.source)
        if self._library is not None and not self._library.is_file():
            raise PlanError(f"there is no library {self._library}", where=f"{self.where}.library")
        super().start()

    def engine_driver(self) -> tuple[dict[str, Any], dict[str, str]]:
        driver, environment = super().engine_driver()
        found = self._found
        library = self._library if found is None else found.program
        own = {"library": str(library), "settings": dict(self._own.settings)}
        return {**driver, **own}, {**environment, **(found.environment if found else {})}

    def version(self) -> str:
        return self._found.version if self._found else ""

    def settings(self) -> dict[str, str]:
        return {**self._own.settings, "library": self._found.described if self._found else str(self._library)}

    def declared(self) -> dict[str, str]:
        return dict(self._own.settings)
