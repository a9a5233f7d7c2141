"""bakeoff: declare a database comparison in one file, run it with one command, get an answer you can defend.

This package is the control plane: all that happens before and after the clock runs. What happens while it runs is
`bakeoff-engine`, a separate process (crates/), reached only through the documents in schema/.
"""

__version__ = "0.2.0"
