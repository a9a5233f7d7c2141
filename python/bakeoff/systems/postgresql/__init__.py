"""PostgreSQL, managed or existing."""
