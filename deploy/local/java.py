"""The command line of a small, quickly started Java process that leaves nothing outside its folder.

Half of the time that Kafka takes to start goes into loading classes. The JVM can keep them, loaded and
checked, in an archive (class data sharing, JEP 350); `deploy.local.classes` makes one in the cache. Without
one everything works as well, only later.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from deploy.local.jars import StackError, cache, jars, kafka_version
from deploy.local.process import Process
from deploy.local.transform import compiled

_LOGGING = Path(__file__).with_name("logging")

BROKER = "kafka.Kafka"
FORMATTER = "kafka.tools.StorageTool"
MIRROR = "org.apache.kafka.connect.mirror.MirrorMaker"
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
CONFIGURE = "kafka.admin.ConfigCommand"
_TOOL_S = 60.0


def class_archive(version: str, main: str) -> Path:
    """Return where the archive of classes is, or would be; its name tells Java's and our jars' versions."""
    java = Path(os.path.realpath(shutil.which("java") or "java"))
    release = java.parent.parent / "release"
    told = release.read_bytes() if release.exists() else str(java).encode()
    key = hashlib.sha256(told + compiled(version).name.encode()).hexdigest()[:16]
    # The formatter is a part of the broker: both load much the same classes.
    kind = "mirror" if main == MIRROR else "broker"
    return cache() / f"classes-{version}-{kind}-{key}.jsa"


def java_command(version: str, folder: Path, main: str, *arguments: str, heap_mb: int) -> list[str]:
    """Return the command that runs class `main` of a Kafka version, with its temporary files in `folder`."""
    scratch = folder / "tmp"
    scratch.mkdir(parents=True, exist_ok=True)
    archive = class_archive(version, main)
    return [
        "java",
        *([f"-XX:SharedArchiveFile={archive}", "-Xlog:cds=off"] if archive.exists() else []),
        f"-Xmx{heap_mb}m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:-UsePerfData",  # otherwise a killed process leaves /tmp/hsperfdata_*
        "-XX:+ExitOnOutOfMemoryError",
        f"-XX:ErrorFile={folder}/java-error-%p.log",
        f"-Djava.io.tmpdir={scratch}",
        f"-Dlog4j2.configurationFile={_LOGGING / 'log4j2.xml'}",
        f"-Dlog4j.configuration=file:{_LOGGING / 'log4j.properties'}",
        "-cp",
        f"{compiled(version)}:{jars(version)}/*",
        main,
        *arguments,
    ]


def run_tool(main: str, *arguments: str) -> None:
    """Run one of Kafka's command-line tools, for what the client library has no call for, and wait for it.

    Raises StackError with what the tool said where it fails, and TimeoutError after a minute.
    """
    with tempfile.TemporaryDirectory(prefix="mirrorwatch-tool-") as name:
        folder = Path(name)
        command = java_command(kafka_version(), folder, main, *arguments, heap_mb=128)
        tool = Process("tool", command, folder=folder)
        tool.start()
        try:
            if tool.wait(deadline_s=_TOOL_S) != 0:
                raise StackError(f"{main} {' '.join(arguments)} failed: {tool.logged().strip()[-500:]}")
        finally:
            tool.kill()
