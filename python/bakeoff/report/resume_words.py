"""The command that continues a bundle, to be copied."""

from __future__ import annotations

import shlex

from ..findings.source import Source

#: In a recorded command: of a plan that has no file of its own the bundle has the only copy.
BUNDLE = "BUNDLE"


def resume_words(bundle: Source, *more: str) -> str:
    """As the bundle was begun, with its plans and thresholds: "`bakeoff run my.toml --resume my-bundle`"."""
    words = shlex.split(bundle.info.command) or ["bakeoff", "run", f"{BUNDLE}/plan.toml"]
    folder = str(bundle.folder)
    words = [word.replace(BUNDLE, folder, 1) if word.startswith(f"{BUNDLE}/") else word for word in words]
    return f"`{shlex.join([*words, '--resume', folder, *more])}`"
