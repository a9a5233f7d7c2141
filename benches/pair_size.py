"""What each pair of driver and workload adds to the engine, from its symbols. CONTRIBUTING.md has the command."""

import re
import subprocess
import sys
from collections import Counter

BAR_BYTES = 80_000

_DRIVER = re.compile(r"bakeoff_drivers::((?:\w+::)+)\w*(?:Driver|Session)\b")
_WORKLOAD = re.compile(r"bakeoff_workloads::(\w+)::")


def pair(symbol: str) -> tuple[str, str] | None:
    """Workload and driver that a symbol was compiled for: both stand in its name. `None`: it is not a pair's own."""
    driver, workload = _DRIVER.search(symbol), _WORKLOAD.search(symbol)
    return (workload[1], driver[1].removesuffix("::")) if driver and workload else None


def sizes(engine: str) -> Counter[tuple[str, str]]:
    """Bytes of code and of constants by pair. `engine`: built with names that tell types (mangling v0)."""
    command = ["nm", "--size-sort", "--print-size", "--demangle", "--defined-only", engine]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: Counter[tuple[str, str]] = Counter()
    for line in listed.splitlines():
        _, size, _, symbol = line.split(" ", 3)
        if of := pair(symbol):
            found[of] += int(size, 16)
    return found


def main() -> int:
    found = sizes(sys.argv[1])
    for (workload, driver), size in sorted(found.items()):
        print(f"{workload:10} {driver:22} {size / 1024:7.1f} KiB{'' if size <= BAR_BYTES else '  above the bar'}")
    return 0 if found and max(found.values()) <= BAR_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
