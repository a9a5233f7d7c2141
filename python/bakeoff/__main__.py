"""`python -m bakeoff`: the same as the command `bakeoff`."""

import sys

from .cli import main

sys.exit(main())
