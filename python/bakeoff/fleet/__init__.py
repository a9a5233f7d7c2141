"""Where engine processes run: `local` for now, one file per way of spreading them."""
