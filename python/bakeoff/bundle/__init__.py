"""Result folders on disk: `write` while runs go on, `read` afterwards. The layout is in model/records/__init__.py.

`open_bundle` is the door for notebooks: docs/reference/python.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..notebook import OpenBundle

__all__ = ["RESULTS", "open_bundle"]

#: The folder that bundles are made in.
RESULTS = Path("bakeoff-results")


def open_bundle(path: Path | str) -> OpenBundle:
    """The bundle in this folder. BundleError where it is none, or cannot be read."""
    from ..notebook import OpenBundle  # commands, which do without it, start at once
    from .read import Bundle

    return OpenBundle(Bundle.open(path))
