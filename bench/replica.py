"""One replica of a group, and what its series say of the lead."""

from __future__ import annotations

import json
from http.client import HTTPException
from typing import TYPE_CHECKING, Any

from bench.watched_service import WatchedService, samples

if TYPE_CHECKING:
    from pathlib import Path


class Replica(WatchedService):
    """One replica; those with one store and one group divide `shards` among them."""

    def __init__(
        self, folder: Path, name: str, *, store: str, group: str = "pair", shards: int = 1, **more: Any
    ) -> None:
        own = {"url": store, "replica": name, "group": group, "shards": shards}
        super().__init__(folder / name, store=own, **more)
        self.replica = name

    def labels(self, series: str, label: str = "") -> list[str]:
        """Return a label of each sample of a series that is not 0; none while it does not answer."""
        if not self.running:
            return []
        try:
            body = self.get("/metrics")
        except (OSError, HTTPException):
            return []
        return [one.labels.get(label, "") for one in samples(body) if one.name == series and one.value]

    @property
    def shard(self) -> str:
        """Return the number of the shard that it leads, "" on standby."""
        return next(iter(self.labels("mirrorwatch_replica_leader", "shard")), "")

    @property
    def leads(self) -> bool:
        """Return whether its series say that it leads."""
        return bool(self.shard)

    @property
    def stands_by(self) -> bool:
        """Return whether it is ready to take over."""
        try:
            return self.get("/-/ready") == b"ready: on standby\n"
        except (OSError, HTTPException):
            return False

    def leave_group(self) -> None:
        """Work alone from the next start on."""
        document = json.loads(self.config.read_text(encoding="utf-8"))
        del document["store"]["group"], document["store"]["shards"]
        self.config.write_text(json.dumps(document), encoding="utf-8")
