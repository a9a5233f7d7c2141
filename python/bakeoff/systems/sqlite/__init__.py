"""SQLite, which lives in the engine."""
