"""The page of isolation levels: `python -m bakeoff.cli.isolation_reference > docs/method/isolation.md`."""

from __future__ import annotations

from ..model.isolation import GALERA, MEANINGS, Meaning

_HEAD = """\
# Isolation: what a level means in each product

One name of a level is not one thing. Where systems that are compared do not mean the same by the level that they ran
at, or ran at different ones (each at its own default, say), the report says so in a sentence: among its first lines
where the plan names a level, or where operations failed or were aborted, else under "What this does not show". Two
products with the same words here get no sentence. Made from the program's own table by `make docs`.

The level is that of the sessions, and settings are what the server says that they are. What follows from a level is
measured: the [comparison](comparison.md#what-failed-for-good) says what failed for good on either side.

| product | level | where | a transaction there | source |
|---|---|---|---|---|
"""
_GALERA = """
*Updates can be lost*: of two transactions that read a row and write back what they computed from it, the second one
overwrites what the first one wrote, unless they read with `FOR UPDATE`. Where one snapshot is seen the second one is
aborted; but two that each change what only the other one read may both commit (write skew), which `serializable` alone
prevents.

A Galera cluster adds to what MariaDB's own level means: {words} ([source]({source})). So its
`serializable` is that of one node.

Own defaults: `repeatable-read` in MariaDB, MySQL, Percona Server and Galera, `read-committed` in PostgreSQL,
`serializable` in SQLite, which has no other.

*Cannot tell:* what a session did itself (`BEGIN ISOLATION LEVEL` in your own SQL), or whether your application notices.
Transactions of one statement meet few of these differences.
"""


def page() -> str:
    return _HEAD + "\n".join(map(_row, MEANINGS)) + "\n" + _GALERA.format(words=GALERA.words, source=GALERA.source)


def _row(one: Meaning) -> str:
    levels = ", ".join(f"`{level}`" for level in one.levels)
    return f"| {', '.join(one.products)} | {levels} | {one.where} | {one.words} | [source]({one.source}) |"


if __name__ == "__main__":
    print(page(), end="")
