"""A run under judgement: its record, and what its plan and its controller know besides. `checks` judges it."""

from dataclasses import dataclass

from ...model.clients import THIS_MACHINE
from ...model.records.run import MachineSide, RunRecord, Severity, Validity
from .steady import SteadyState


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """system: its name. clients_reported: those that sent a result. server_alive: None if nobody looked.
    latency_probe: one was wanted. replaces_sessions: the workload itself asks for new connections. writes: it does.
    steady: None without values second by second. staged: the plan changes the rate."""

    record: RunRecord
    error_budget_ratio: float
    system: str = "the system"
    clients_expected: int = 1
    clients_reported: int = 1
    interrupted: bool = False
    server_alive: bool | None = None
    latency_probe: bool = False
    replaces_sessions: bool = False
    writes: bool = True
    steady: SteadyState | None = None
    staged: bool = False

    @property
    def counted(self) -> int:
        """Operations in the figures."""
        return sum(series.count for series in self.record.series if series.part_of is None)

    @property
    def is_measured_here(self) -> bool:
        """Whether a client or a server was on this machine: else what goes on here disturbs nothing."""
        clients = self.record.clients
        return not clients or self.record.server_is_here or any(each.machine == THIS_MACHINE for each in clients)

    @property
    def machine(self) -> MachineSide:
        """This one, as far as it matters."""
        return self.record.machine if self.is_measured_here else MachineSide()

    @property
    def connections_lost(self) -> int:
        if self.replaces_sessions:
            return self.record.connections_lost
        # A session that was given up after a timeout was replaced without being reported as lost.
        return max(self.record.connections_lost, self.record.reconnects)


def finding(
    name: str, ok: bool | None, severity: Severity, words: str, value: float | None = None, value_words: str = ""
) -> Validity:
    return Validity(name=name, ok=ok, severity=severity, words=words, value=value, value_words=value_words)
