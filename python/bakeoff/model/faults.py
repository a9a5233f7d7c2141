"""Faults that a plan asks for, and what became of them. docs/method/faults.md defines every figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import AliasChoices, Field

from .boundary import Document

#: Of a load that was watched for less, nothing is said of its rate: faults not further apart are one event.
WATCHED_S_MIN = 1.0

FaultKind = Literal["kill", "stop", "freeze", "restart", "partition", "delay", "skew"]
#: What ends those that leave the server running; the others end with a start.
_ENDED_BY: dict[FaultKind, str] = {"freeze": "thaw", "partition": "reconnect", "delay": "restore", "skew": "restore"}
#: Those between a server and the others of its system: one at a time.
BETWEEN_SERVERS: tuple[FaultKind, ...] = ("partition", "delay")
#: Those of a size, `by_s`.
SIZED: tuple[FaultKind, ...] = ("delay", "skew")


class PlannedFault(Document):
    """What a plan does to one server. at_s: since the window's start. for_s: until it is thawed, reconnected, restored
    or started again; None: it stays as it is until the load has ended (a `restart` starts it again at once). by_s: of
    a `delay`, one way; of a `skew`, by which its clock is ahead, or below 0 behind."""

    at_s: float
    node: str
    do: FaultKind
    for_s: float | None = None
    by_s: float | None = None

    @property
    def ends_server(self) -> bool:
        return self.do not in _ENDED_BY

    @property
    def label(self) -> str:
        """ "kill n3", "delay n3 by 20 ms"."""
        return f"{self.do} {self.node}{f' by {self._size}' if self.by_s is not None else ''}"

    @property
    def _size(self) -> str:
        by_s, sign = self.by_s or 0.0, "+" if self.do == "skew" else ""
        return f"{by_s * 1e3:{sign}g} ms" if abs(by_s) < 1 else f"{by_s:{sign}g} s"

    @property
    def words(self) -> str:
        """ "kill n3 at 20 s, restart it after 5 s"."""
        after = f", {_ENDED_BY.get(self.do, 'restart')} it after {self.for_s:g} s" if self.for_s is not None else ""
        return f"{self.label} at {self.at_s:g} s{after}"

    @property
    def end_label(self) -> str:
        """What ends it: "thaw n3"."""
        return f"{_ENDED_BY.get(self.do, 'start')} {self.node}"


def events(planned: Sequence[PlannedFault]) -> list[list[int]]:
    """Numbers of the faults, which are in the order of time, by event: the effects of faults that begin within
    WATCHED_S_MIN after the one before cannot be distinguished."""
    found: list[list[int]] = []
    for number, fault in enumerate(planned):
        if found and fault.at_s - planned[number - 1].at_s <= WATCHED_S_MIN:
            found[-1].append(number)
        else:
            found.append([number])
    return found


class FaultEffect(Document):
    """A fault's effect on the load, seconds. None: unknown, or it did not happen while it was watched."""

    #: From the fault until an operation failed.
    detect_s: float | None = None
    #: The longest time in which no operation ended ok, and none that writes; None: the work writes nothing. 0: no such
    #: time began with the fault.
    without_success_s: float = 0.0
    without_writes_s: float | None = None
    #: The same of operations that only read, where it is longer than any had been before; None: the work reads nothing.
    without_reads_s: float | None = None
    #: The same (of writes, where there are any) before the first fault.
    gap_before_s: float = 0.0
    #: The rate before the first fault, and the time from the fault until the rate was that again and stayed so. Both
    #: None: too little was counted, or watched, to tell the rate's fall from chance.
    rate_before_ops_per_s: float | None = None
    full_rate_s: float | None = None
    #: After the rate was back it fell once more, and of such falls this was the longest: when it began, seconds from
    #: the fault; for how long (0: it did not fall, None: not known); to which rate in its lowest second.
    second_drop_s: float | None = Field(default=None, validation_alias=AliasChoices("second_drop_s", "fell_again_s"))
    second_drop_for_s: float | None = Field(
        default=None, validation_alias=AliasChoices("second_drop_for_s", "fell_again_for_s")
    )
    second_drop_to_ops_per_s: float | None = Field(
        default=None, validation_alias=AliasChoices("second_drop_to_ops_per_s", "fell_again_to_ops_per_s")
    )
    #: How long it was felt: until the rate was back and the server, too; else for as long as it was watched.
    felt_s: float = 0.0
    #: How long the load was watched after the fault: until the next one, or the window's end.
    watched_s: float = 0.0
    #: The longest response time of an operation that ended while the fault was felt; or that waited then and had not
    #: ended when the window did, its age at that time.
    longest_wait_s: float | None = None
    #: Operations that ended so while it was felt.
    failed: int = 0
    unknown: int = 0

    @property
    def not_back(self) -> bool:
        """The rate can be judged, and was not seen to come back."""
        return self.rate_before_ops_per_s is not None and self.full_rate_s is None


class FaultRecord(Document):
    """A planned fault as it was carried out, seconds since the window's start. begun_s: the node was hurt; ended_s: it
    was thawed or reconnected, or its start was asked for; back_s: it served again. None: that has not happened."""

    planned: PlannedFault
    begun_s: float | None = None
    ended_s: float | None = None
    back_s: float | None = None
    #: It was made whole only when the load had ended.
    after_load: bool = False
    #: How it came back, in its system's words: "incremental state transfer"; "" where there is but one way.
    rejoined: str = ""
    #: When each client wrote it down, by its own clock.
    marked_s: list[float] = Field(default_factory=list)
    #: Why it was not carried out as planned.
    failure: str = ""
    #: Of all faults of its event, on the first of them that was carried out.
    effect: FaultEffect | None = None

    @property
    def rejoin_s(self) -> float | None:
        """From the start that was asked for until it served again; None: it was never started again."""
        return None if self.ended_s is None or self.back_s is None else self.back_s - self.ended_s
