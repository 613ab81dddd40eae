"""The steps that are left until a new mirror runs, with commands to copy. Pure."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from fleet.quantity import count_text
from mirrorwatch.migration.seeds import NULL

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mirrorwatch.configuration.configuration import Configuration
    from mirrorwatch.migration.mirror import MirrorState

    Step = tuple[str, ...]  # a sentence, and the lines of a command

REST_FILE, RECORDS_FILE = "offsets.json", "offsets.tsv"


@dataclass(frozen=True, slots=True)
class Steps:
    """What is left: `seeds` is the number of offsets to set, `path` the file of positions.

    `out` is the folder with the files of offsets, None if they are not written. `stale`: the positions are
    of no use; `started`: the new mirror runs, and has continued from them.
    """

    config: Configuration
    mirror: MirrorState
    seeds: int
    path: Path
    out: Path | None
    stale: bool = False
    started: bool = False

    def left(self) -> Iterator[Step]:
        """Yield the steps in order."""
        if self.stale:
            yield "Do what the failed checks say, and check again.", self._command("plan")
            return
        if self.started:
            yield "Compare what it has replicated.", self._command("verify")
            return
        on_connect = self.mirror.topics.order.flow.on_connect
        if on_connect and self.mirror.runs is not False:
            yield "Stop the new connector.", f"curl -X PUT {self._connector}/stop"
        if self.seeds and self.out is None:
            yield "Write the offsets into files.", self._command("plan", "--out", "DIR")
        if self.seeds:
            yield self._patch() if on_connect else self._produce()
            yield "Check again.", self._command("plan")
        if on_connect:
            yield "Start the new connector.", f"curl -X PUT {self._connector}/resume"
        else:
            yield ("Start the new MirrorMaker.",)
        yield "Once it has replicated, compare.", self._command("verify")

    def _patch(self) -> Step:
        command = (
            f"curl -X PATCH -H 'Content-Type: application/json' --data @{self._folder}/{REST_FILE}"
            f" {self._connector}/offsets"
        )
        older = f"write {RECORDS_FILE} into its offsets topic instead, while its workers are stopped"
        if not self.mirror.topics.order.flow.connector:
            older = "name the connector in this configuration, and plan again"
        return f"Set {count_text(self.seeds, 'offset')}. Kafka Connect before 3.6 cannot; {older}.", command

    def _produce(self) -> Step:
        order = self.mirror.topics.order
        topic, cluster = order.offsets_topic, order.offsets_cluster
        sentence = (
            f"Write {count_text(self.seeds, 'record')} into {topic} on {cluster}. It must exist, with"
            " cleanup.policy=compact. Kafka before 4.2 calls the options --property."
        )
        produce = f"kafka-console-producer.sh --bootstrap-server BROKERS_OF_{cluster} --topic {topic} \\"
        options = f"--reader-property parse.key=true --reader-property null.marker={NULL}"
        return sentence, produce, f"  {options} < {self._folder}/{RECORDS_FILE}"

    def _command(self, name: str, *more: str) -> str:
        return shlex.join(["mirrorwatch", "migrate", name, str(self.config.path), str(self.path), *more])

    @property
    def _folder(self) -> str:
        return "DIR" if self.out is None else shlex.quote(str(self.out))

    @property
    def _connector(self) -> str:
        address = "http://CONNECT:8083" if self.config.connect is None else self.config.connect.url
        name = self.mirror.topics.order.flow.connector or "NAME"
        return f"{address}/connectors/{shlex.quote(quote(name, safe=''))}"
