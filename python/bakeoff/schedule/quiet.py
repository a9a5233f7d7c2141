"""Whether the machine is quiet enough to measure, before a run is spent on finding out that it is not."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..analysis.disturbance import OTHER_PROCESSES, STEAL
from ..analysis.wording import seconds_words
from ..provision.neighbours import Heard, listen

#: Listening once, and for how long the machine must have been quiet when it was waited for.
LISTEN_S = 1.0
QUIET_S = 5.0
#: Between two lines that say what is waited for.
_SAY_EVERY_S = 60.0


def busy_words(heard: Heard) -> str:
    """What would disturb a run now: "83 % of the CPU time goes to other processes, most to cc1plus, pid 7"; "": nothing
    that can be heard."""
    found = []
    if heard.other_ratio > OTHER_PROCESSES.bound:
        most = f", most to {heard.process}" if heard.process else ""
        found.append(f"{OTHER_PROCESSES.words(heard.other_ratio)} of the CPU time goes to other processes{most}")
    if heard.steal_ratio > STEAL.bound:
        found.append(f"{STEAL.words(heard.steal_ratio)} of the CPU time goes to other virtual machines")
    return "; ".join(found)


@dataclass(frozen=True)
class Quiet:
    """cores: on which clients and servers will run; none: on other machines. wait: whether to wait until they are
    quiet, for `at_most_s` each time (None: for ever)."""

    cores: Sequence[int]
    say: Callable[[str], None]
    wait: bool = False
    at_most_s: float | None = None
    hear: Callable[[Sequence[int], float], Heard] = listen
    clock_s: Callable[[], float] = time.monotonic

    def at_start(self) -> None:
        """Waits, or says that the machine is busy."""
        if self.wait:
            self.await_quiet()
        elif self.cores and (busy := busy_words(self.hear(self.cores, LISTEN_S))):
            advice = "runs will be disturbed, and repeated; --wait-until-quiet waits"
            self.say(f"warning: this machine is busy: {busy}: {advice}")

    def await_quiet(self) -> None:
        if not self.wait or not self.cores:
            return
        began = quiet_since = self.clock_s()
        said_at: float | None = None
        while True:
            busy = busy_words(self.hear(self.cores, LISTEN_S))
            now = self.clock_s()
            if not busy and now - quiet_since >= QUIET_S:
                return
            if busy:
                quiet_since = now
                if said_at is None or now - said_at >= _SAY_EVERY_S:
                    said_at = now
                    self.say(f"waiting until the machine is quiet: {busy}")
            if self.at_most_s is not None and now - began >= self.at_most_s:
                self.say(f"the machine was not quiet for {seconds_words(QUIET_S)} within the time given; going on")
                return
