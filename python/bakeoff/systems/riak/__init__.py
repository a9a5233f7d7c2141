"""Riak KV: see system.py."""
