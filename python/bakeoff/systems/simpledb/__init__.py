"""Amazon SimpleDB, and an emulator of it."""
