"""Nothing secret enters a plan or a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from bakeoff.errors import PlanError
from bakeoff.plan.document.tables import names_a_secret
from bakeoff.plan.read import resolve
from bakeoff.systems.mysql.control import Control
from bakeoff.systems.mysql.node import DECISIVE, MySqlNode, Product
from bakeoff.systems.mysql.settings import SHAPING
from bakeoff.systems.server.system import Access

PLAN = 'title = "t"\n[systems.sqlite]\n{}\n[workload]\nkind = "ycsb"\n{}\n[factors]\nthreads = [1]\n{}\n'


@pytest.mark.parametrize(
    "lines",
    [
        ("settings = { wsrep_sst_auth = 'root:hunter2' }", "", ""),
        ("start = { settings = { wsrep-sst-auth = 'root:hunter2' } }", "", ""),
        ("session = { my_api_key = 'hunter2' }", "", ""),
        ("apiKey = 'hunter2'", "", ""),
        ("access_key = 'hunter2'", "", ""),
        ("sasl = { credentials = 'hunter2' }", "", ""),
        ("report_password = 'hunter2'", "", ""),
        ("settings = { file_key_management_private_key = 'hunter2' }", "", ""),
        ("", "auth_token = 'hunter2'", ""),
        ("", "", "'sqlite.settings.wsrep_sst_auth' = ['hunter2']"),
        ("", "", "settings.api_key = ['hunter2']"),
    ],
)
def test_a_literal_secret_is_refused_whatever_it_is_called_and_never_repeated(lines: tuple[str, ...]) -> None:
    with pytest.raises(PlanError) as caught:
        resolve(PLAN.format(*lines).replace("[systems.sqlite]\nstart", "[systems.mariadb]\nstart"), Path("."))
    assert "a plan must not contain a secret" in caught.value.what
    assert caught.value.hint
    assert "hunter2" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("name", sorted(SHAPING | set(DECISIVE)))
def test_settings_that_shape_a_load_are_no_secrets(name: str) -> None:
    assert not names_a_secret(name)


def test_ways_to_handle_passwords_are_no_secrets() -> None:
    names = "default_password_lifetime innodb_ft_max_token_size validate_password_length ssl_key key_buffer_size keys"
    assert not any(names_a_secret(name) for name in names.split())


class FakeControl:
    """A server on which everything was changed."""

    def __init__(self, variables: dict[str, str]) -> None:
        self._variables = variables

    def rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        return [(name.upper(),) for name in self._variables]


def node(variables: dict[str, str], *, managed: bool) -> MySqlNode:
    control = cast(Control, FakeControl(variables))
    return MySqlNode("server", "primary", "", Access(lambda: control, managed=managed))


SECRET = {
    "wsrep_sst_auth": "root:hunter2",
    "wsrep_provider_options": "socket.ssl_key=hunter2",
    "init_connect": "SET @key = 'hunter2'",
    "file_key_management_filekey": "hunter2",
    "aws_key_management_master_key_id": "hunter2",
    "a_plugin_of_theirs": "hunter2",
    "report_user": "hunter2",
}
PLAIN = {"innodb_io_capacity": "2000", "max_connections": "500", "optimizer_switch": "mrr=on", "sync_binlog": "1"}


@pytest.mark.parametrize("product", ["MariaDB", "MySQL"])
def test_of_an_existing_server_only_what_shapes_a_load_is_copied(product: str) -> None:
    variables = {**SECRET, **PLAIN}
    assert node(variables, managed=False).read_settings(Product(product, "1"), variables) == PLAIN


def test_of_a_server_of_ours_everything_that_was_changed_is_reported() -> None:
    variables = {"init_connect": "SET x = 1", "datadir": "/x"}
    read = node(variables, managed=True).read_settings(Product("MariaDB", "1"), variables)
    assert read == {"init_connect": "SET x = 1"}
