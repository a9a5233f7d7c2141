"""What acknowledged commits survive. Levels of durability are names for this; comparisons go by it, not by them.

A level's name says the least that every system which has it keeps:

    full      no acknowledged commit is lost, neither when the server's process is killed nor at a power loss
    relaxed   none is lost when the process is killed; a power loss takes the last ones; the data stay whole
    none      the last ones are lost even when the process is killed, or a power loss can spoil the data
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

#: From strictest to loosest.
LEVELS = ("full", "relaxed", "none")
NOTHING = "nothing"
_KILL, _POWER, _WHOLE = "lost_when_killed", "lost_at_power_loss", "whole_afterwards"
#: Names of the facts, in the order in which they are shown.
FACTS = (_KILL, _POWER, _WHOLE)


@dataclass(frozen=True)
class Survival:
    """Of one server as it is set. The first two in words: "nothing", "commits of the last 1 s".

    lost_when_killed: acknowledged commits that are gone after SIGKILL to the server's process.
    lost_at_power_loss: those gone when the machine loses its power, on a disk that keeps what it acknowledged.
    whole: whether the data are consistent after either, but for what is lost.
    """

    lost_when_killed: str
    lost_at_power_loss: str
    whole: bool = True

    @property
    def level(self) -> str:
        if not self.whole or self.lost_when_killed != NOTHING:
            return "none"
        return "full" if self.lost_at_power_loss == NOTHING else "relaxed"

    def facts(self) -> dict[str, str]:
        """As portable facts, the level first."""
        told = (self.lost_when_killed, self.lost_at_power_loss, "yes" if self.whole else "no")
        return {"durability": self.level, **dict(zip(FACTS, told, strict=True))}


def read(portable: Mapping[str, str]) -> Survival | None:
    """From portable facts; None where a system says nothing, or an older bakeoff wrote them."""
    if not all(name in portable for name in FACTS):
        return None
    return Survival(portable[_KILL], portable[_POWER], portable[_WHOLE] == "yes")


def longest_loss_s(words: str) -> float:
    """How old the oldest of the lost commits is at most, as far as such words say: 0 for "nothing", infinite where they
    name no time."""
    if words == NOTHING:
        return 0.0
    seconds = re.search(r"the last ([\d.]+) s", words)
    return float(seconds[1]) if seconds else math.inf


def kind_of_loss(survival: Survival) -> tuple[bool, bool, bool]:
    """What two systems must have in common to be comparable: whether commits are lost in either event, and whether
    the data stays whole. How many are lost is shown in addition."""
    return survival.lost_when_killed != NOTHING, survival.lost_at_power_loss != NOTHING, survival.whole


def words(survival: Survival) -> str:
    """In one clause: "nothing lost when killed, commits of the last 1 s at a power loss"."""
    spoilt = "" if survival.whole else ", which can corrupt the data"
    if survival.lost_when_killed == survival.lost_at_power_loss:
        return f"{survival.lost_when_killed} lost when killed or at a power loss{spoilt}"
    return f"{survival.lost_when_killed} lost when killed, {survival.lost_at_power_loss} at a power loss{spoilt}"
