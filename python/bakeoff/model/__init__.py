"""Documents that cross boundaries: `boundary` (engine in and out) and `records` (what a bundle holds)."""
