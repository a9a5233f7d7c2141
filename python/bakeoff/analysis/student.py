"""The t distribution, as the few numbers that intervals, decisions and power need.

scipy is imported on first use (0.4 s when cold), because most commands never get here.
"""

from functools import cache
from typing import Any


@cache
def _special() -> Any:
    from scipy import special

    return special


def t_critical(alpha: float, df: float) -> float:
    """The t that is exceeded in absolute value with probability `alpha`; df > 0, need not be whole (Welch)."""
    return float(_special().stdtrit(df, 1 - alpha / 2))


def t_equivalence(alpha: float, df: float, power: float) -> float:
    """Non-centrality of the bounds at which two one-sided t tests at `alpha` show equivalence with probability `power`
    where there is no difference at all. Source: Schuirmann (1987); each of the two may fail in half of the rest."""
    return float(_special().nctdtrinc(df, (1 - power) / 2, t_critical(2 * alpha, df)))


def t_two_sided_p(t: float, df: float) -> float:
    """Probability of |T| >= |t|."""
    return float(2 * _special().stdtr(df, -abs(t)))


def f_p(f: float, df_between: float, df_within: float) -> float:
    """Probability of an F of at least `f`."""
    return float(_special().fdtrc(df_between, df_within, f))


def t_detectable(alpha: float, df: float, power: float) -> float:
    """Non-centrality at which a two-sided t test at `alpha` rejects with probability `power`.

    In units of the standard error: multiply by it to get the smallest difference that would be seen. The chance of
    rejecting on the wrong side is left out; at power 0.8 it is below one in a million.
    """
    return float(_special().nctdtrinc(df, 1 - power, t_critical(alpha, df)))
