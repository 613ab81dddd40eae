"""The drills: each fault of the register with what the parts that exist can say of it.

Drills with the same `settings` of the mirror run one after the other on one stack. Those that leave a
verdict which holds for a quarter of an hour have a service and a topic of their own; the others share one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deploy.drills.catalogue_offsets import OFFSET_DRILLS
from deploy.drills.drill import Drill
from deploy.drills.settings import NEVER, OWN_SETTINGS, PROXIED, TOLD_OTHERWISE
from fleet.verdicts.vocabulary import Cause, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

_STALLED, _LOSING, _ALTERED = Verdict.STALLED, Verdict.LOSING, Verdict.ALTERED

_IDENTITY = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}
_RARELY = {"refresh.topics.interval.seconds": "600"}
_TOLERANT = {"A->B.errors.tolerance": "all", **OWN_SETTINGS}
_RESTARTED = frozenset({Cause.MIRROR_DOWN})  # it stands while it restarts, which the fault is or begins with
_MADE_ANEW = frozenset({Cause.TOPIC_RECREATED})

_QUICK = {"horizon": "10s"}

DRILLS: tuple[Drill, ...] = (
    # --- the mirror's processes, tasks and connections
    Drill(name="restart-mirror", verdict=None, accepted=_RESTARTED),
    Drill(name="freeze-mirror", verdict=_STALLED, cause=Cause.MIRROR_DOWN),
    Drill(name="kill-mirror", verdict=_STALLED, cause=Cause.MIRROR_DOWN),
    Drill(name="fail-task", verdict=_STALLED, cause=Cause.MIRROR_DOWN),
    Drill(name="fail-one-task", verdict=_STALLED, cause=Cause.TASK_STUCK),
    Drill(name="hang-one-task", verdict=_STALLED, cause=Cause.TASK_STUCK),
    Drill(name="wrong-bootstrap", verdict=_STALLED, cause=Cause.MIRROR_DOWN),
    Drill(name="pause-mirror", verdict=_STALLED, cause=Cause.MIRROR_DOWN),
    Drill(
        name="exclude-topic",
        verdict=_STALLED,
        cause=Cause.NOT_MIRRORED,
        accepted=_RESTARTED,
        watch_s=45,
    ),
    Drill(name="small-fetches", verdict=None, accepted=_RESTARTED, after_s=15),
    Drill(name="forget-offsets", verdict=None, accepted=_RESTARTED),
    Drill(name="delete-own-topics", verdict=_STALLED, cause=Cause.MIRROR_DOWN),
    Drill(name="slow-mirror", verdict=Verdict.LATE, watch_s=30),
    # --- the clusters
    Drill(name="restart-source", verdict=None, accepted=frozenset({Cause.SOURCE_DOWN})),
    Drill(name="restart-target", verdict=None, accepted=frozenset({Cause.TARGET_DOWN})),
    Drill(name="stop-source", verdict=_STALLED, cause=Cause.SOURCE_DOWN),
    Drill(name="kill-source", verdict=_STALLED, cause=Cause.SOURCE_DOWN),
    Drill(name="freeze-source", verdict=_STALLED, cause=Cause.SOURCE_DOWN),
    Drill(name="stop-target", verdict=_STALLED, cause=Cause.TARGET_DOWN),
    Drill(name="kill-target", verdict=_STALLED, cause=Cause.TARGET_DOWN),
    Drill(name="freeze-target", verdict=_STALLED, cause=Cause.TARGET_DOWN),
    Drill(
        name="quota",
        verdict=_STALLED,
        accepted=frozenset({Cause.MIRROR_DOWN, Cause.TASK_STUCK}),  # as all tasks are held back or one
        watch_s=60,
    ),
    # --- loss
    Drill(name="drop-some", verdict=_LOSING, cause=Cause.FILTERED, then=_LOSING),
    Drill(name="drop-partition", verdict=_STALLED, cause=Cause.TASK_STUCK, then=_LOSING),
    Drill(name="drop-topic", verdict=_STALLED, cause=Cause.NOT_MIRRORED, then=_LOSING),
    Drill(name="misroute-some", verdict=_LOSING, cause=Cause.FILTERED, then=_LOSING),
    Drill(name="misroute-partition", verdict=_LOSING, cause=Cause.MISROUTED, then=_LOSING),
    Drill(
        name="overtake",
        verdict=_LOSING,
        cause=Cause.OVERTAKEN,
        accepted=frozenset({Cause.MIRROR_DOWN}),  # it is killed first; its start is what mends it
        shows_mended=True,
        then=_LOSING,
    ),
    Drill(
        name="overtake",
        title="overtake-long",
        verdict=_LOSING,
        cause=Cause.OVERTAKEN,
        accepted=frozenset({Cause.MIRROR_DOWN}),
        shows_mended=True,
        then=_LOSING,
        canary=_QUICK,
    ),
    Drill(
        name="reject-large-quietly",
        verdict=_STALLED,
        cause=Cause.RECORD_REJECTED,
        then=_LOSING,
        settings=_TOLERANT,
    ),
    # --- change
    Drill(name="alter-some", verdict=_ALTERED, cause=Cause.TRANSFORMED, then=_ALTERED),
    Drill(name="drop-keys", verdict=_ALTERED, cause=Cause.TRANSFORMED, then=_ALTERED),
    Drill(name="drop-values", verdict=_ALTERED, cause=Cause.TRANSFORMED, then=_ALTERED),
    Drill(name="drop-headers", verdict=_ALTERED, cause=Cause.TRANSFORMED, then=_ALTERED),
    Drill(
        name="convert-values",
        sweeping=True,
        verdict=_ALTERED,
        cause=Cause.TRANSFORMED,
        accepted=_RESTARTED,
        then=_ALTERED,
        watch_s=60,
        after_s=25,
        canary=_QUICK,
    ),
    Drill(
        name="convert-json",
        sweeping=True,
        verdict=_ALTERED,
        cause=Cause.TRANSFORMED,
        accepted=_RESTARTED,
        then=_ALTERED,
        watch_s=60,
    ),
    Drill(
        name="convert-headers",
        sweeping=True,
        verdict=_ALTERED,
        cause=Cause.TRANSFORMED,
        accepted=_RESTARTED,
        then=_ALTERED,
        watch_s=60,
    ),
    # --- repetition
    Drill(
        name="second-mirror",
        sweeping=True,
        verdict=Verdict.REPEATING,
        cause=Cause.DUPLICATING,
        then=Verdict.REPEATING,
        watch_s=90,
    ),
    Drill(
        name="way-back",
        sweeping=True,
        verdict=Verdict.REPEATING,
        cause=Cause.LOOPING,
        then=Verdict.REPEATING,
        watch_s=60,
        settings=_IDENTITY,
    ),
    # --- topics
    Drill(name="recreate-source-topic", verdict=None, topic="page-views"),
    Drill(name="recreate-source-topic", title="recreate-canary-topic", verdict=None, own=True),
    Drill(name="recreate-stopped", verdict=None, accepted=_MADE_ANEW, own=True, watch_s=30),
    Drill(name="recreate-target-topic", title="recreate-target-canary", verdict=None, own=True),
    Drill(name="delete-source-topic", verdict=None, accepted=_MADE_ANEW, own=True),
    Drill(
        name="delete-target-topic", verdict=_STALLED, cause=Cause.TOPIC_MISSING, own=True, settings=_RARELY
    ),
    Drill(name="add-partitions", verdict=None, topic="page-views"),
    Drill(name="add-partitions", title="add-canary-partitions", verdict=None, own=True),
    Drill(
        name="add-partitions",
        title="add-unseen-partitions",
        verdict=_STALLED,
        cause=Cause.PARTITION_MISSING,
        own=True,
        settings=NEVER,
        told=TOLD_OTHERWISE,
        canary=_QUICK,
        watch_s=45,
        then=_STALLED,
    ),
    Drill(
        name="reject-large",
        verdict=_STALLED,
        cause=Cause.RECORD_REJECTED,
        accepted=frozenset({Cause.MIRROR_DOWN}),  # its tasks have failed, until the settings are read again
        own=True,
        settings=OWN_SETTINGS,
    ),
    Drill(name="too-few-in-sync", verdict=None, own=True),
    Drill(name="stamp-anew", verdict=None, own=True),
    Drill(name="expire-quickly", verdict=None, own=True, watch_s=30),
    Drill(name="source-refuses", verdict=Verdict.UNKNOWN, own=True),
    # --- the connection to the source, through a proxy
    Drill(name="cut-source", verdict=_STALLED, cause=Cause.MIRROR_DOWN, settings=PROXIED),
    Drill(
        name="slow-link",
        verdict=Verdict.LATE,
        accepted=frozenset({Cause.MIRROR_DOWN}),  # until the first late one has come
        settings=PROXIED,
        watch_s=60,
    ),
    # --- others in the canary's topic
    Drill(name="neighbour", verdict=None, own=True, counted="foreign", watch_s=45),
    Drill(name="strangers-at-source", verdict=None, own=True),
    Drill(name="strangers-at-target", verdict=None, own=True),
    *OFFSET_DRILLS,
)

BY_LABEL = {one.label: one for one in DRILLS}


def named(which: Callable[[Drill], bool]) -> str:
    """Return the names of those drills as a sentence has them; there is one at least."""
    *before, last = (f"`{one.label}`" for one in DRILLS if which(one))
    return f"{', '.join(before)} and {last}" if before else last
