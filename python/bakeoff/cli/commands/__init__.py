"""The commands: one file each, with `add` (its parser) and `run` (its work, an exit code back)."""
