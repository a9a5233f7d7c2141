"""The one task that Dask carries for a client: start a keeper where the worker is, and hold it."""

from __future__ import annotations

from collections.abc import Callable

#: source of the keeper, its address and token as JSON -> what the keeper said at its end.
Errand = Callable[[str, str], str]


def errand() -> Errand:
    """A function in a function: Dask carries such a one by value, so nothing of ours need be installed there."""

    def hold(source: str, errand: str) -> str:
        import json
        import os
        import select
        import subprocess
        import sys
        import tempfile
        import time

        from distributed import get_worker, secede

        beat_s, silence_s = 1.0, 5.0
        start_s = 20.0  # more than silence: dozens of them may start at once on a few cores
        security = get_worker().security
        names = {"ca": security.tls_ca_file, "cert": security.tls_worker_cert, "key": security.tls_worker_key}
        tls = {key: os.path.abspath(v) if v and "\n" not in v else v for key, v in names.items()}
        first = {**json.loads(errand), "tls": tls if tls["ca"] else None}
        secede()  # it waits, and others of this run may be held here, too
        with (
            tempfile.TemporaryDirectory(prefix="bakeoff-", ignore_cleanup_errors=True) as folder,
            tempfile.TemporaryFile() as words,
        ):
            keeper = subprocess.Popen(
                [sys.executable, "-I", "-c", source],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
                cwd=folder,
                process_group=0,
            )
            assert keeper.stdin is not None
            assert keeper.stdout is not None
            with keeper:
                beaten = time.monotonic()
                heard = beaten + start_s
                try:
                    keeper.stdin.write(json.dumps(first).encode() + b"\n")
                    while True:
                        if (now := time.monotonic()) >= beaten:
                            keeper.stdin.write(b"\n")
                            beaten = now + beat_s
                        if select.select([keeper.stdout], [], [], max(0.0, beaten - now))[0]:
                            if not os.read(keeper.stdout.fileno(), 4096):
                                break
                            heard = max(heard, time.monotonic())
                        elif now - heard > silence_s:  # before the look: a worker that stood still has missed nothing
                            return f"its keeper has said nothing for {silence_s:.0f} s"
                except BrokenPipeError:
                    pass  # it has ended
                finally:
                    keeper.kill()  # it has ended already, or is frozen
            words.seek(0)
            return words.read()[-2000:].decode(errors="replace").strip()

    return hold
