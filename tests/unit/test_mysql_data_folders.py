"""Which folders hold data of a MySQL or MariaDB server, by its settings: power is cut in all of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.provision.installation import Installation
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.server import ServerSpec
from bakeoff.systems.mysql.mariadb import MariaDbProcess


@pytest.mark.parametrize(
    ("settings", "elsewhere"),
    [
        ({}, []),
        ({"log_bin": "ON", "innodb_data_file_path": "ibdata1:12M:autoextend", "aria_log_dir_path": ""}, []),
        ({"log_bin": "", "innodb_data_file_path": ""}, []),
        ({"log_bin": "/logs/binlog"}, ["/logs"]),
        ({"aria_log_dir_path": "/aria"}, ["/aria"]),
        ({"innodb_data_home_dir": "", "innodb_data_file_path": "/a/one:12M;two:1M;/b/three:1M"}, ["/a", "/b"]),
        ({"innodb_data_home_dir": "/home", "innodb_data_file_path": "one:12M"}, ["/home"]),
    ],
)
def test_settings_put_data_elsewhere(tmp_path: Path, settings: dict[str, str], elsewhere: list[str]) -> None:
    installation = Installation("10.11.19", "debian", "", Path("/usr/sbin/mariadbd"))
    spec, folder = ServerSpec(installation, settings, "bakeoff"), InstanceFolder(tmp_path, for_servers=False)
    server = MariaDbProcess(spec, folder, where="systems.m")
    assert server.data_folders() == [server.data, *map(Path, elsewhere)]
