"""The clients of a run one by one: what each asked and got, what it cost, and where it ran. docs/method/clients.md."""

from __future__ import annotations

from pydantic import Field

from .boundary import Document, HistogramDoc

#: Where bakeoff itself runs.
THIS_MACHINE = "this machine"


class ClientRecord(Document):
    """One client, an engine process, over the window of its run. None: not known, or it does not arise."""

    number: int  # from 0, as that of its run.<n>.json
    machine: str = THIS_MACHINE
    #: What the fleet calls it, where it is this machine. Several may be.
    load_machine: str = ""
    #: Of the machine, that its clients may use.
    cores: int | None = None
    #: As of the run: ended ok in the window, at most what fell due to this client, per second.
    rate_ops_per_s: float
    due: int | None = None  # open loop
    completed: int = 0
    ok: int
    errors: dict[str, int] = Field(default_factory=dict)
    #: wrong + fail: they rank at infinity.
    failures: int = 0
    #: The distribution behind its percentiles; those of all clients add up to the run's.
    headline: HistogramDoc
    cpu_s: float = 0.0
    memory_peak_bytes: int = 0
    workers_busy_ratio: list[float] = Field(default_factory=list)
    workers_run_queue_delay_ratio: list[float] = Field(default_factory=list)
    #: Of its machine's CPU time in the window: taken by the hypervisor.
    steal_ratio: float = 0.0
    #: Behind the time at which all were to begin.
    start_late_ns: int | None = None
    #: The machine's monotonic clock minus the controller's; the truth is no further from it than the bound.
    clock_offset_ns: int = 0
    clock_bound_ns: int = 0
    #: There and back, the least of several: to the controller, and to each server by the name of its node.
    round_trip_ns: int | None = None
    server_round_trip_ns: dict[str, int] = Field(default_factory=dict)
    #: By what it fell behind the other clients ("50 % of the rate of the others"), and what may be the reason, in
    #: words; "" and none: it kept up with them.
    behind: str = ""
    signs: list[str] = Field(default_factory=list)

    @property
    def server_round_trip_ns_max(self) -> int | None:
        return max(self.server_round_trip_ns.values(), default=None)

    @property
    def machine_words(self) -> str:
        """ "load1", "this machine", "load1 (this machine)"."""
        return f"{self.load_machine} ({self.machine})" if self.load_machine else self.machine

    @property
    def words(self) -> str:
        """ "client 2 on load1"; on this machine "client 2", or "client 2 on load1 (this machine)"."""
        here = self.machine_words == THIS_MACHINE
        return f"client {self.number}{'' if here else f' on {self.machine_words}'}"
