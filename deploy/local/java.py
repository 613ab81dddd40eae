"""The command line of a small, quickly started Java process that leaves nothing outside its folder."""

from __future__ import annotations

from pathlib import Path

from deploy.local.jars import jars
from deploy.local.transform import compiled

_LOGGING = Path(__file__).with_name("logging")


def java_command(version: str, folder: Path, main: str, *arguments: str, heap_mb: int) -> list[str]:
    """Return the command that runs class `main` of a Kafka version, with its temporary files in `folder`."""
    scratch = folder / "tmp"
    scratch.mkdir(parents=True, exist_ok=True)
    return [
        "java",
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
