"""A link whose frames take longer: `relay.py NEAR FAR DELAY_S` makes two devices, says so by an empty line, and carries
every frame from one to the other after that delay, in both directions, in order. Ends when it is killed.

(Kernels can do this by themselves, with `netem`; not all have it.)
"""

from __future__ import annotations

import fcntl
import os
import queue
import struct
import sys
import threading
import time

_TUNSETIFF = 0x400454CA
_IFF_TAP, _IFF_NO_PI = 0x0002, 0x1000
_FRAME_MAX_BYTES = 1 << 16


def device(name: str) -> int:
    file = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(file, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TAP | _IFF_NO_PI))
    return file


def carry(source: int, target: int, delay_s: float) -> None:
    held: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

    def deliver() -> None:
        while True:
            due, frame = held.get()
            time.sleep(max(0.0, due - time.monotonic()))
            _quietly_write(target, frame)

    threading.Thread(target=deliver, daemon=True).start()
    while True:
        try:
            frame = os.read(source, _FRAME_MAX_BYTES)
        except OSError:  # the link is down
            time.sleep(0.01)
            continue
        held.put((time.monotonic() + delay_s, frame))


def _quietly_write(target: int, frame: bytes) -> None:
    try:
        os.write(target, frame)
    except OSError:  # the link is down, and the frame lost
        return


def main(near_name: str, far_name: str, delay_s: str) -> None:
    near, far = device(near_name), device(far_name)
    print(flush=True)
    threading.Thread(target=carry, args=(near, far, float(delay_s)), daemon=True).start()
    carry(far, near, float(delay_s))


if __name__ == "__main__":
    main(*sys.argv[1:])
