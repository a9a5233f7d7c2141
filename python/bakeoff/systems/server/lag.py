"""How far a replica is behind its primary, from positions: what the primary has committed, and what the replica has
applied. A server's own idea of it is not asked (MariaDB's Seconds_Behind_Master is 0 while the applier waits for a
primary that it cannot reach, and jumps with the age of a single event)."""

from __future__ import annotations

from bisect import bisect_right
from operator import itemgetter


class Lag:
    """Of one replica, told positions of its primary at growing times."""

    def __init__(self) -> None:
        self._seen: list[tuple[float, int]] = []

    def age_s(self, at_s: float, committed: int, applied: int) -> float:
        """How long ago the oldest commit that is not applied yet was made, at the time `at_s`; 0.0: all is applied.

        committed, applied: positions that count up with each commit, at that time. Between two times at which it was
        asked the primary is taken to have committed evenly, so the age is right to a fraction of that interval. Of
        commits that were made before the first time it is a lower bound.
        """
        if self._seen and committed < self._seen[-1][1]:
            self._seen.clear()  # another beginning: data were put back
        self._seen.append((at_s, committed))
        first = bisect_right(self._seen, applied, key=itemgetter(1))
        del self._seen[: max(0, first - 1)]  # all that was seen before is applied
        if committed <= applied:
            return 0.0
        if first == 0:
            return at_s - self._seen[0][0]
        (before_s, before), (after_s, after) = self._seen[:2]
        made_s = before_s + (after_s - before_s) * (applied + 1 - before) / (after - before)
        return max(0.0, at_s - made_s)
