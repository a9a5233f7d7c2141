"""For all tests."""

from hypothesis import HealthCheck, settings

# A test says the same of the same code on every machine, however slow. `--hypothesis-profile explore` draws anew.
settings.register_profile("same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", settings.get_profile("same"), derandomize=False)
settings.load_profile("same")
