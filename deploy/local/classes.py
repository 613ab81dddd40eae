"""Make the cache ready: jars, transformation, and archives of loaded classes. Quiet when it is ready already.

python -m deploy.local.classes
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from deploy.local.jars import StackError, alone, cache, jars, kafka_version
from deploy.local.java import BROKER, MIRROR, class_archive
from deploy.local.pair import Pair

_DUMP_S = 60.0


def make_ready(version: str) -> None:
    """Fetch and compile what is missing, and archive the classes of a pair that has copied heartbeats."""
    archives = [class_archive(version, main) for main in (BROKER, MIRROR)]
    if all(archive.exists() for archive in archives):
        return
    with alone(f"classes-{version}"):
        if not all(archive.exists() for archive in archives):
            print(f"Preparing Kafka {version} for quick starts (once)", flush=True)
            _archive(version, *archives)


def _archive(version: str, broker_archive: Path, mirror_archive: Path) -> None:
    work = Path(tempfile.mkdtemp(prefix=".classes-", dir=cache()))
    pair = Pair(work / "pair", version=version)
    drafts = {work / "broker.jsa": broker_archive, work / "mirror.jsa": mirror_archive}
    try:
        for process, draft in zip((pair.a, pair.mirror), drafts, strict=True):
            if process is not None:
                process.environment["JDK_JAVA_OPTIONS"] = f"-XX:ArchiveClassesAtExit={draft}"
        pair.start()
        pair.wait_ready(deadline_s=120.0)
        pair.stop(grace_s=_DUMP_S)
        for draft, archive in drafts.items():
            if draft.exists():  # a JVM that cannot make one is no reason to fail: it starts without
                draft.rename(archive)
    finally:
        pair.kill()
        shutil.rmtree(work, ignore_errors=True)


def main() -> int:
    """Make the cache ready for the Kafka version of this run."""
    try:
        version = kafka_version()
        jars(version)
        make_ready(version)
    except (StackError, TimeoutError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
