"""Two brokers with equal records on them, and the parts of the checksum's benchmark, each a method."""

from __future__ import annotations

import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bench.checksum_command import configuration, run
from bench.checksum_plain import plain_digest
from bench.checksum_records import PARTITIONS, RECORD_BYTES, planned, write
from bench.checksum_speed import RUN, Bench, again, comparison, scaled, sizes, speeds, warm_up
from checksum.digest.cell_rows import Side
from checksum.spark.session import spark_session
from checksum.spark.settings import SparkSettings
from deploy.local.broker import Broker, start_together
from deploy.local.several import Several

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

ROUNDS: Final = 3
MASTER: Final = "local[2]"
CORES: Final = (1, 2)
_WHOLE, _TENTH, _BARE = "whole", "tenth", "bare"
_MEMORY = Path("/dev/shm")  # noqa: S108 - where Linux has files in memory
_ROOM_BYTES = 8 << 30


class Two(Several):
    """Two brokers, A and B; inside the context manager they are ready."""

    def __init__(self, folder: Path) -> None:
        self.brokers = [Broker(alias, folder / alias) for alias in ("A", "B")]

    def bring_up(self) -> None:
        """Start both and wait until each serves clients."""
        start_together(self.brokers)
        for one in self.brokers:
            one.wait_ready()

    def kill(self) -> None:
        """End both at once."""
        for one in self.brokers:
            one.kill()

    def clients(self) -> dict[str, dict[str, str]]:
        """Return by alias what a librdkafka client needs."""
        return {one.alias: one.client_properties() for one in self.brokers}

    def properties(self) -> dict[str, dict[str, str]]:
        """Return by alias what a Java client needs."""
        return {one.alias: one.java_properties() for one in self.brokers}


class Stage:
    """The brokers with what is on them; each part is a method, in the order of PARTS."""

    def __init__(self, two: Two, folder: Path, records: int) -> None:
        self._two = two
        self._folder = folder
        began = time.monotonic()
        tenth = max(PARTITIONS, records // 10)
        sizes = {_WHOLE: (records, True), _TENTH: (tenth, True), _BARE: (2 * tenth, False)}
        self._compared: set[str] = set()  # by the command
        self._benches = {}
        for topic, (count, headers) in sizes.items():
            names = {"A": topic, "B": f"A.{topic}"}
            write(two.clients(), names, count, headers=headers)
            plan = planned("A", "B", topic, names["B"], count, headers=headers)
            self._benches[topic] = Bench(plan, two.properties(), folder / "digests" / topic)
        self.prepared = {"records": records, "written_s": round(time.monotonic() - began, 1)}

    def speed(self) -> dict[str, Any]:
        """Count and digest both sides in turn."""
        whole = self._benches[_WHOLE]
        with self._spark() as spark:
            warm_up(spark, self._benches[_TENTH])
            return speeds(spark, whole, sides=tuple(Side), rounds=ROUNDS)

    def bare(self) -> dict[str, Any]:
        """Count and digest records without headers."""
        bare = self._benches[_BARE]
        with self._spark() as spark:
            warm_up(spark, bare)
            return speeds(spark, bare, sides=(Side.SOURCE,), rounds=ROUNDS)

    def scaling(self) -> dict[str, Any]:
        """Digest a tenth and all of the source on one core and on two."""
        found: dict[str, Any] = {}
        for cores in CORES:
            with self._spark(f"local[{cores}]") as spark:
                found[f"cores_{cores}"] = scaled(spark, self._benches[_TENTH], self._benches[_WHOLE], cores)
        return found

    def again(self) -> dict[str, Any]:
        """Digest what is digested already."""
        whole = self._benches[_WHOLE]
        self._digest(whole)
        with self._spark() as spark:
            return again(spark, whole, RUN)

    def compare(self) -> dict[str, Any]:
        """Compare both digests of all records, and see how large they are."""
        whole = self._benches[_WHOLE]
        self._digest(whole)
        with self._spark() as spark:
            return comparison(spark, whole, RUN) | sizes(whole, RUN, record_bytes=RECORD_BYTES)

    def command(self) -> dict[str, Any]:
        """Run the whole command on a tenth of the records, and on all."""
        return {topic: self._command(topic) for topic in (_TENTH, _WHOLE)}

    def second(self) -> dict[str, Any]:
        """Run it once more, with nothing new since."""
        if _WHOLE not in self._compared:
            self._command(_WHOLE)
        return self._command(_WHOLE)

    def plain(self) -> dict[str, Any]:
        """Digest a tenth without Spark, and see that it comes to the same."""
        tenth = self._benches[_TENTH]
        self._digest(tenth)
        with self._spark() as spark:
            rows = tenth.rows(spark, RUN)
        began = time.monotonic()
        client = self._two.clients()
        plain = {
            Side.SOURCE: plain_digest(client["A"], _TENTH, tenth.plan),
            Side.TARGET: plain_digest(client["B"], f"A.{_TENTH}", tenth.plan),
        }
        took_s = time.monotonic() - began
        for side, found in plain.items():
            if found != {row.key: row for row in rows[side]}:
                raise RuntimeError(f"The plain digest of the {side} is not Spark's.")
        return {
            "records": tenth.records,
            "records_per_s": round(2 * tenth.records / took_s),
            "whole_s": round(took_s, 1),
        }

    def _command(self, topic: str) -> dict[str, Any]:
        config = configuration(self._folder / "command", self._two.clients(), "A", "B")
        self._compared.add(topic)
        return run(config, topic, flow="A:B", master=MASTER)

    def _digest(self, bench: Bench) -> None:
        """Digest both sides where no earlier part has done so."""
        if all((bench.place(side, RUN) / "slices").is_dir() for side in Side):
            return
        with self._spark() as spark:
            for side in Side:
                bench.digest(spark, side, RUN)

    @contextmanager
    def _spark(self, master: str = MASTER) -> Iterator[SparkSession]:
        with spark_session(SparkSettings(self._folder / "spark", master=master)) as session:
            yield session


@contextmanager
def stage_of(records: int) -> Iterator[Stage]:
    """Give the brokers with so many records on each, in a folder that is gone afterwards."""
    with _scratch() as folder, Two(folder) as two:
        yield Stage(two, folder, records)


@contextmanager
def _scratch() -> Iterator[Path]:
    """Give a folder that is gone afterwards, in memory where there is room for the records."""
    roomy = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM_BYTES
    with tempfile.TemporaryDirectory(prefix="mirrorwatch-bench-", dir=_MEMORY if roomy else None) as name:
        yield Path(name)
