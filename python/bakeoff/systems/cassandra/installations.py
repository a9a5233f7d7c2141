"""Where Cassandra comes from: its jars from Maven Central, or a distribution that was unpacked here."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from bakeoff.provision.closure import MavenClosure
from bakeoff.provision.installation import Source, Sources
from bakeoff.provision.java import JavaInstallation, JavaNeed
from bakeoff.provision.on_path import OWN

#: 5.0 does not start on Java 25, which has no security manager any more.
JAVA = JavaNeed("Cassandra", (17, 11))
_LISTS = Path(__file__).parent / "jars"


class Unpacked(Source):
    """A distribution that was unpacked: that of the `cassandra` on the PATH, or $CASSANDRA_HOME. Of it the jars alone
    are used."""

    name = "path"

    def here(self) -> list[JavaInstallation]:
        started = shutil.which("cassandra")
        homes = [os.environ.get("CASSANDRA_HOME"), started and str(Path(started).resolve().parent.parent)]
        return [
            one
            for home in dict.fromkeys(filter(None, homes))
            if (version := _version_in(Path(home)))
            for one in JAVA.installation(version, self.name, f"{OWN} {home}", Path(home, "lib"), OWN)
        ]


def _version_in(home: Path) -> str | None:
    names = (jar.name for jar in home.glob("lib/apache-cassandra-*.jar"))
    return next((found[1] for name in names if (found := re.fullmatch(r"apache-cassandra-([\d.]+)\.jar", name))), None)


SOURCES = Sources(
    "cassandra",
    "Cassandra",
    (Unpacked(), MavenClosure("cassandra", _LISTS, JAVA, {"4.1.10": 47, "5.0.9": 62})),
    requires=JAVA.find,
)
