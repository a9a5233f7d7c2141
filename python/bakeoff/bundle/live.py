"""`live.jsonl`: what a run tells while it goes on, for those who watch it. The file is there only while the run is, and
after a run that was killed: whatever lasts is in the bundle's other files."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from ..locks import open_plain
from ..model.boundary import Document
from .events import EVENT, Event

NAME = "live.jsonl"
#: Read at once: some hours of seconds.
_READ_BYTES = 8 << 20
_LINE_MAX_BYTES = 1 << 20


class LiveLog:
    """Events as JSON lines. That it cannot be written (the disk is full, ...) ends the log, not the run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = -1
        with suppress(OSError):
            with suppress(FileNotFoundError):
                (folder / NAME).unlink()  # of a plan that was killed: whoever still reads it sees its end
            self._file = open_plain(folder / NAME, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND)

    def write(self, event: Document) -> None:
        if self._file < 0:
            return
        line = json.dumps(event.model_dump(mode="json"), allow_nan=False)
        try:
            os.write(self._file, line.encode() + b"\n")
        except OSError:
            self.close()

    def close(self) -> None:
        """Takes the file away."""
        file, self._file = self._file, -1
        if file >= 0:
            with suppress(OSError):
                (self._folder / NAME).unlink()
            with suppress(OSError):
                os.close(file)


class LiveReader:
    """What was appended since it was last asked. A line that is no event is left out: the file may be anybody's."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._inode = 0
        self._at = 0
        self._rest = b""

    def events(self) -> list[Event] | None:
        """None where there is no such file, or another one than before: whoever reads on begins at its start."""
        try:
            handle = open_plain(self._path, os.O_RDONLY)
        except OSError:
            return None
        with open(handle, "rb") as file:
            found = os.fstat(handle)
            if self._inode not in (0, found.st_ino) or found.st_size < self._at:
                return None
            self._inode = found.st_ino
            file.seek(self._at)
            data = file.read(_READ_BYTES)
        self._at += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > _LINE_MAX_BYTES:
            self._rest = b""
        return [event for line in lines if (event := _event(line)) is not None]


def _event(line: bytes) -> Event | None:
    try:
        return EVENT.validate_json(line)
    except ValidationError:
        return None
