"""What all kinds of servers share; a kind says what is its own. A simple one is one file; `systems/redis/` has
one for each part:

    SOURCES = Sources(...)              where its programs come from: the PATH, Debian, Maven, an image

    class RedisOptions(ServerOptions):  what a plan may say besides the options of every server, and those of the
                                        engine's driver, which the engine checks
    class RedisControl(Control):        statements of ours: `_log_in` logs in, `_explained` makes an error a sentence
    class RedisNode(ServerNode):        what a server is asked: `read_facts` after each start, `read_status` (counters
                                        and gauges) every second, `read_debt` at both ends of a run's window
    class RedisProcess(DatabaseServer): a managed server: `make_data` in an empty folder, then for each start
                                        `write_config`, `command`, and `answers` until it is ready; `stop_signal`
                                        ends it; `before_snapshot` makes what a stop leaves whole and settled
    class RedisFamily(Family):          the levels of durability as settings, settings that leave stored bytes as they
                                        are, settings that are ours; it makes the control connection and names the node
    class Redis(StartedServer):         the kind: its names, and which of the above it is made of

and a line in `systems/__init__.py`. Ports, folders, passwords, logs, freezing and killing, snapshots and cold starts
are the same for all (`started.py`, `provision/server.py`). A kind that can also be given by its address has an
`existing` (`existing.py`), and its family, an `AddressedFamily`, a ledger (`ledger.py`); one of several servers derives
from `Replicated` (`replication.py`) or says its `roles`.
"""
