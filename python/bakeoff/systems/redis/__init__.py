"""Redis and Valkey: see system.py and valkey.py."""
