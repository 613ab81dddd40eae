"""The drills of the checksum: faults that leave all metrics green, and what comparing both sides says.

Drills with the same `settings` of the mirror run one after the other on one stack, each on its own topic.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deploy.drills.checksum_traces import GIVEN_UP, MIRROR, PARTITIONS, STAMPED, TARGET, TOPIC_ID
from deploy.drills.settings import OWN_SETTINGS
from fleet.verdicts.vocabulary import Cause, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """A fault of the register and what a checksum is to say of it; `verdict` None: no alarm.

    `found` is what it has to count of records by its own verdicts, or the fault did not reach them; `changes`
    is what shows that instead, where no record does (`drill_audit_traces`).
    """

    name: str
    verdict: Verdict | None
    cause: Cause | None = None
    found: str = ""
    changes: str = ""
    accepted: frozenset[str] = frozenset()  # what it may count beside `found` and matches
    lasts_s: float = 4.0  # from when the fault is there to when the fault ends, or compared
    mended_after: bool = False  # whether it is compared first: what proves its cause is gone with the fault
    settings: Mapping[str, str] = field(default_factory=dict)  # of the mirror, beside the usual quick ones

    @property
    def label(self) -> str:
        """Return what it is called on the command line."""
        return f"checksum-{self.name}"

    @property
    def topic(self) -> str:
        """Return the topic that the fault is done to."""
        return f"audited-{self.name}"


def _lost(name: str, cause: Cause) -> Audit:
    return Audit(name=name, verdict=Verdict.LOSING, cause=cause, found="lost")


def _altered(name: str, cause: Cause = Cause.TRANSFORMED, accepted: frozenset[str] = frozenset()) -> Audit:
    return Audit(name=name, verdict=Verdict.ALTERED, cause=cause, found="altered", accepted=accepted)


_TWICE = frozenset({"duplicated"})  # a mirror that starts again copies the newest once more


AUDITS: tuple[Audit, ...] = (
    # --- loss
    _lost("drop-some", Cause.FILTERED),
    _lost("drop-tombstones", Cause.FILTERED),
    _lost("drop-partition", Cause.FILTERED),
    # Compared while the records at the end of the log are still left out: no later one follows them.
    Audit(name="drop-topic", verdict=Verdict.LOSING, cause=Cause.FILTERED, found="lost", mended_after=True),
    _lost("recreate-stopped", Cause.TOPIC_RECREATED),
    _lost("misroute-some", Cause.FILTERED),
    Audit(name="misroute-partition", verdict=Verdict.LOSING, cause=Cause.MISROUTED, found="misrouted"),
    Audit(
        name="reject-large-quietly",
        verdict=Verdict.LOSING,
        cause=Cause.RECORD_REJECTED,
        found="lost",
        mended_after=True,  # how large a record may be is asked of the target's topic
        settings={"A->B.errors.tolerance": "all", **OWN_SETTINGS},
    ),
    # --- change
    *map(_altered, ("alter-some", "drop-keys", "drop-values", "drop-headers")),
    _altered("convert-headers", accepted=_TWICE),
    _altered("retime-some", Cause.RETIMED),
    Audit(name="strangers-at-target", verdict=Verdict.ALTERED, cause=Cause.UNEXPLAINED, found="extra"),
    # --- what is no loss, no change and no lasting repetition
    Audit(name="restart-mirror", verdict=None, changes=MIRROR, accepted=_TWICE),
    Audit(name="kill-mirror", verdict=None, changes=MIRROR, accepted=_TWICE),
    Audit(name="kill-target", verdict=None, changes=TARGET, accepted=_TWICE),
    Audit(name="second-mirror", verdict=None, found="duplicated", lasts_s=20.0),
    Audit(name="transactions", verdict=None, changes=GIVEN_UP),
    Audit(name="recreate-source-topic", verdict=None, changes=TOPIC_ID),
    Audit(name="add-partitions", verdict=None, changes=PARTITIONS),
    Audit(name="stamp-anew", verdict=None, changes=STAMPED),
)
