"""A service that watches a stack in its own process, asked as any client would ask it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deploy.local.service import Service, offsets_at
from fleet.verdicts.vocabulary import Cause, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from deploy.local.pair import Pair

_FLOW = "A->B"


class Watched(Service):
    """A service of our own, in its own process and with its own store."""

    def __init__(
        self,
        folder: Path,
        pair: Pair,
        *,
        topic: str,
        canary: Mapping[str, str],
        lag: Mapping[str, str] | None = None,
        told: Mapping[str, str] | None = None,
        by_offsets: bool = False,
        both: bool = False,
    ) -> None:
        assert pair.mirror is not None
        folder.mkdir()
        self.topic = topic
        # The mirror's file as it is now: what a fault changes of it later, the service has to find out.
        known = folder / "mm2.properties"
        lines = "".join(f"{key}={value}\n" for key, value in (told or {}).items())  # the last one counts
        known.write_bytes(pair.mirror.properties_file.read_bytes() + lines.encode("ascii"))
        clusters = {alias: broker.client_properties() for alias, broker in pair.brokers.items()}
        document: dict[str, object] = {"mm2": str(known), "clusters": clusters}
        if by_offsets:
            document |= {"canary": {"mode": "off"}, "lag": {"commits": "topic", **(lag or {})}}
        else:
            # What the canary finds by itself, unless both are wanted: offsets would tell some of it too.
            commits = "topic" if both else "off"
            document |= {"canary": {"topic": topic, **canary}, "lag": {"commits": commits, **(lag or {})}}
        super().__init__(folder, document)
        self._by_offsets = by_offsets

    def flow(self) -> dict[str, Any]:
        """Return what the service says of the flow; empty while it does not answer."""
        return self.flows().get(_FLOW, {})

    def is_well(self) -> bool:
        """Return whether the flow is healthy and has been for some probes, where there are any."""
        flow = self.flow()
        if flow.get("verdict") != Verdict.HEALTHY:
            return False
        return not self._waiting_topics() if self._by_offsets else flow["counters"]["good"] > 6

    def _waiting_topics(self) -> list[str]:
        """Return topics with records of which the mirror has written no offset yet, all while not known."""
        missing = offsets_at(self.url, _FLOW).get("missing", [{"cause": {"code": ""}, "topic": "any"}])
        return [one["topic"] for one in missing if one["cause"]["code"] in {"", Cause.NOT_MIRRORED}]

    def suspicions(self) -> list[dict[str, Any]]:
        """Return the findings of the flow's offsets that have other explanations too."""
        return [one for one in offsets_at(self.url, _FLOW).get("findings", []) if not one["proved"]]

    def losses(self, topic: str) -> list[dict[str, Any]]:
        """Return the findings of records that a topic lost, proved or suspected, or that were retimed."""
        found = offsets_at(self.url, _FLOW).get("findings", [])
        return [one for one in found if one["topic"] == topic and one["verdict"] != Verdict.REPEATING]

    def end(self) -> int:
        """Stop it by SIGTERM and return its exit status. Raises TimeoutError where it does not end."""
        self.request_stop()
        return self.wait(deadline_s=60)
