"""One node of a Galera cluster, asked what it does and how it stands in the group.

Sources: Galera Cluster documentation, "Galera Status Variables" and "Galera Parameters".
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal

from bakeoff.systems.base import Facts
from bakeoff.systems.durability import of_galera
from bakeoff.systems.mysql import facts
from bakeoff.systems.mysql.galera_process import PROVIDER_OPTIONS
from bakeoff.systems.mysql.node import MySqlNode
from bakeoff.systems.server.node import Status

#: Of the server's variables those that shape what a cluster does.
_DECISIVE = (
    "wsrep_sync_wait", "wsrep_slave_threads", "wsrep_retry_autocommit", "wsrep_max_ws_size", "wsrep_trx_fragment_size",
    "wsrep_certification_rules", "wsrep_sst_method",
)  # fmt: skip
#: And of the provider's.
_PROVIDER = (
    "cert.optimistic_pa", "evs.inactive_timeout", "evs.keepalive_period", "evs.suspect_timeout", "gcache.size",
    "gcs.fc_factor", "gcs.fc_limit", "gcs.fc_master_slave", "gcs.fc_single_primary", "repl.causal_read_timeout",
    "repl.commit_order",
)  # fmt: skip
#: Where the node is, and the provider's options as one text.
_PASSED_BY = frozenset(
    {
        "wsrep_cluster_address", "wsrep_cluster_name", "wsrep_node_address", "wsrep_node_incoming_address",
        "wsrep_node_name", "wsrep_provider", PROVIDER_OPTIONS, "wsrep_sst_auth", "wsrep_sst_receive_address",
        "wsrep_start_position",
    }
)  # fmt: skip
_GAUGES = re.compile(r"wsrep_(local_(recv_queue|send_queue|state)|cluster_size)")
_COUNTERS = re.compile(
    r"wsrep_(local_(bf_aborts|cert_failures|commits|replays)|flow_control_(paused_ns|recv|sent)|last_committed|"
    r"received|received_bytes|replicated|replicated_bytes)"
)
_QUEUE = "wsrep_local_recv_queue"


class GaleraNode(MySqlNode):
    def read_facts(self) -> Facts:
        read = super().read_facts()
        variables = facts.read_variables(self.control)
        provider = provider_options(variables.get(PROVIDER_OPTIONS, ""))
        (version,) = self.control.rows("SHOW GLOBAL STATUS LIKE 'wsrep_provider_version'")
        settings = {
            **{name: value for name, value in read.settings.items() if name not in _PASSED_BY},
            **{name: variables[name] for name in _DECISIVE if name in variables},
            **{name: provider[name] for name in _PROVIDER if name in provider},
            "wsrep_provider_version": str(version[1]),
        }
        return replace(read, settings=settings, portable={**read.portable, **of_galera(variables).facts()})

    def read_status(self) -> Status:
        return facts.read_status(self.control, kind_of)

    def read_debt(self) -> dict[str, float]:
        status = self.read_status()
        return {
            **facts.read_debt(self.control, status, self._page_size_bytes),
            "recv_queue_write_sets": status.gauges[_QUEUE],
        }


def kind_of(name: str) -> Literal["gauge", "counter"] | None:
    if name.startswith("wsrep_"):
        return "gauge" if _GAUGES.fullmatch(name) else "counter" if _COUNTERS.fullmatch(name) else None
    return facts.kind_of(name)


def provider_options(text: str) -> dict[str, str]:
    """From `name = value; name = value; ...`."""
    pairs = (part.partition("=") for part in text.split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs if name.strip()}
