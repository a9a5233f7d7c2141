"""What a comparison is judged by: one number a run, its direction and its name in words."""

import re
from dataclasses import dataclass

_LATENCY = re.compile(r"latency_(?:(mean)|(max)|p(\d{1,2}|99\d{1,3}))\Z")


@dataclass(frozen=True, slots=True)
class Objective:
    """name: as in the plan (`rate`, `latency_mean`, `latency_max`, `latency_p99`, `latency_p999`).

    quantile: for percentiles, within 0..1.
    """

    name: str
    higher_is_better: bool
    label: str
    quantile: float | None = None

    @classmethod
    def parse(cls, name: str) -> "Objective":
        """ValueError for a name that is none; the text lists what there is."""
        if name == "rate":
            return cls(name, True, "rate")
        match = _LATENCY.match(name)
        if not match or match[3] in ("0", "00"):
            raise ValueError(
                f"unknown objective {name!r}: use rate, latency_mean, latency_max or a percentile"
                " (latency_p50, latency_p99, latency_p999 for 99.9 %)"
            )
        if match[1]:
            return cls(name, False, "mean response time")
        if match[2]:
            return cls(name, False, "longest response time")
        digits = match[3]
        quantile = int(digits) / 10 ** max(2, len(digits))
        return cls(name, False, f"p{quantile * 100:.10g}", quantile)
