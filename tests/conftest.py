"""For all tests."""

import atexit
import gc
import os
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# A test says the same of the same code on every machine, however slow. `--hypothesis-profile explore` draws again.
settings.register_profile("same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", settings.get_profile("same"), derandomize=False)
settings.load_profile("same")

# A session of tests disturbs neither another one nor what somebody measures on this machine.
os.environ["BAKEOFF_LOCK_DIR"] = tempfile.mkdtemp(prefix="bakeoff-test-locks-")
atexit.register(shutil.rmtree, os.environ["BAKEOFF_LOCK_DIR"], ignore_errors=True)

# What is started in the background of a script ignores Ctrl-C, and so would all that the tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="module")
def own_leaks() -> Iterator[None]:
    """What a file's tests leave open fails a test of that file, not one that comes later in the same process."""
    yield
    gc.collect()


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was left out and why, in the last line: a skipped test is easily taken for one that passed."""
    skipped = terminalreporter.stats.get("skipped", [])
    counted = Counter((one.location[0], str(one.longrepr[2]).removeprefix("Skipped: ")) for one in skipped)
    if counted:
        words = "; ".join(f"{count} of {file} ({reason})" for (file, reason), count in counted.items())
        terminalreporter.write_line(f"NOT TESTED: {words}", yellow=True, bold=True)
