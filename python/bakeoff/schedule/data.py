"""What is known of the data that a system holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

#: What was done to the data since they were loaded: of every client of every run a document, in the workload's own
#: words. None stands for a run of which nobody knows what it did.
Done = list[JsonValue]


@dataclass
class Data:
    """A data set in its place; systems that work on the same tables share the object."""

    #: As it was loaded or found.
    begun: Done = field(default_factory=list)
    #: Of those that insert into it, see turns.py; other than 0 where somebody has before.
    first_turn: int = 0
    #: The copy that can be put back, of a private system.
    snapshot: Path | None = None
    #: That the next run begins with.
    done: Done = field(init=False)

    def __post_init__(self) -> None:
        self.done = self.begun
