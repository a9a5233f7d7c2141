"""PostgreSQL, private or existing."""
