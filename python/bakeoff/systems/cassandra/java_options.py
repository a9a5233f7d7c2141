"""What a Java is told before it runs Cassandra: what the distribution's own scripts say (conf/jvm17-server.options,
cassandra-env.sh), without what only a server for years needs."""

from __future__ import annotations

from pathlib import Path

from bakeoff.errors import ServerError

#: Packages of Java's own that Cassandra looks into.
_OPENED = """
    java.base/java.io java.base/java.lang java.base/java.lang.reflect java.base/java.net java.base/java.nio
    java.base/java.util java.base/java.util.concurrent java.base/java.util.concurrent.atomic
    java.base/jdk.internal.loader java.base/jdk.internal.math java.base/jdk.internal.misc
    java.base/jdk.internal.module java.base/jdk.internal.perf java.base/jdk.internal.ref
    java.base/jdk.internal.reflect java.base/jdk.internal.util.jar java.base/sun.nio.ch
    java.management/sun.management java.management.rmi/com.sun.jmx.remote.internal.rmi
    java.rmi/sun.rmi.registry java.rmi/sun.rmi.server java.rmi/sun.rmi.transport java.rmi/sun.rmi.transport.tcp
    java.sql/java.sql jdk.management/com.sun.management.internal
"""
_EXPORTED = """
    java.base/java.lang.ref java.base/jdk.internal.misc java.base/jdk.internal.perf java.base/jdk.internal.ref
    java.base/sun.nio.ch java.management.rmi/com.sun.jmx.remote.internal.rmi java.rmi/sun.rmi.registry
    java.rmi/sun.rmi.server java.rmi/sun.rmi.transport java.rmi/sun.rmi.transport.tcp java.sql/java.sql
    jdk.unsupported/sun.misc
"""


def java_options(jars: Path, heap_mib: int, temporary: Path) -> list[str]:
    """Raises ServerError."""
    return [
        f"-Xms{heap_mib}m",
        f"-Xmx{heap_mib}m",
        f"-XX:MaxDirectMemorySize={heap_mib // 2}m",
        "-Xss512k",
        "-XX:+UseG1GC",
        "-XX:MaxGCPauseMillis=300",
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:+PerfDisableSharedMem",  # no file in /tmp that a killed one would leave
        "-Djava.net.preferIPv4Stack=true",
        f"-Djava.io.tmpdir={temporary}",
        f"-Djna.tmpdir={temporary}",
        "-Djdk.attach.allowAttachSelf=true",
        "-Dio.netty.tryReflectionSetAccessible=true",
        f"-javaagent:{_agent(jars)}",
        *(word for package in _OPENED.split() for word in ("--add-opens", f"{package}=ALL-UNNAMED")),
        *(word for package in _EXPORTED.split() for word in ("--add-exports", f"{package}=ALL-UNNAMED")),
        "-cp",
        f"{jars}/*",
    ]


def _agent(jars: Path) -> Path:
    """It tells Cassandra how much memory an object takes."""
    for jar in sorted(jars.glob("jamm-*.jar")):
        return jar
    raise ServerError(f"there is no jamm-*.jar in {jars}", hint="is this a whole distribution of Cassandra?")
