"""Nodes that have answered no look for so long that they count as frozen, though nobody planned it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping

#: A server that says nothing to the looks beside the load for so long is called frozen.
SERVER_SILENCE_S = 8.0


class Frost:
    """Of one run. `frozen`: the nodes that are so now; told when that begins and ends."""

    def __init__(self, tell: Callable[[str], None], clock_s: Callable[[], float] = time.monotonic) -> None:
        self.frozen: set[str] = set()
        self.all_frozen = False
        self._tell = tell
        self._clock_s = clock_s
        self._excused_at: dict[str, float] = {}

    def notice(self, silent_s: Mapping[str, float], away: Collection[str]) -> None:
        """silent_s: by node, how long it has not answered. away: nodes that a planned fault keeps from answering; for
        how long it did does not count."""
        now_s = self._clock_s()
        self._excused_at |= dict.fromkeys(away, now_s)
        for node, silence_s in silent_s.items():
            own_s = min(silence_s, now_s - self._excused_at[node]) if node in self._excused_at else silence_s
            if (own_s > SERVER_SILENCE_S) == (node in self.frozen):
                continue
            self.frozen ^= {node}
            words = f"has not answered for {own_s:.0f} s" if node in self.frozen else "answers again"
            self._tell(f"{node if len(silent_s) > 1 else 'the server'} {words}")
        self.all_frozen = bool(silent_s) and self.frozen >= silent_s.keys()
