"""The drills of what offsets alone can say: no canary, and MirrorMaker's own defaults for most.

By default a worker writes its offsets once a minute, and a mirror looks for topics every ten.
"""

from __future__ import annotations

from functools import partial

from deploy.drills.drill import Drill
from deploy.drills.settings import NEVER, OWN_SETTINGS, PROXIED, TOLD_OTHERWISE
from fleet.verdicts.vocabulary import Cause, Verdict

DEFAULTS = {
    "A.offset.flush.interval.ms": "60000",
    "B.offset.flush.interval.ms": "60000",
    "refresh.topics.interval.seconds": "600",
    "refresh.groups.interval.seconds": "600",
    "emit.checkpoints.interval.seconds": "60",
    "sync.group.offsets.interval.seconds": "60",
    "sync.topic.configs.interval.seconds": "600",
}
# Of faults that are about what a look for topics finds: a mirror may take that long, and then twice as long
# as it counts as moving, 288 s.
SOON = {**DEFAULTS, "refresh.topics.interval.seconds": "5"}
# The default, written out so that the drill has the mirror for itself: a worker that its group gave up while
# the target was away may leave its tasks alone for so long once it is back, whatever the next drill is about.
_LEAVES_ALONE = {**DEFAULTS, "B.scheduled.rebalance.max.delay.ms": "300000"}
_JOINT = {  # several workers of one group, of which one takes over at once
    "dedicated.mode.enable.internal.rest": "true",
    "listeners": "http://127.0.0.1:0",
    "B.scheduled.rebalance.max.delay.ms": "0",
}
_STANDS = frozenset({Cause.MIRROR_DOWN, Cause.TASK_STUCK})
_slow = partial(Drill, by_offsets=True, settings=DEFAULTS, watch_s=300.0, back_s=300.0)
_left_out = partial(_slow, verdict=None, suspected=Cause.FILTERED, watch_s=200.0)

OFFSET_DRILLS: tuple[Drill, ...] = (
    # --- nothing wrong, or over in a moment
    _slow(name="restart-mirror", title="offsets-restart-mirror", verdict=None, watch_s=200),
    *(
        _slow(
            name=name,
            title=f"offsets-{name}",
            verdict=None,
            accepted=frozenset({down}),  # where a restart takes longer than two looks
            watch_s=200,
        )
        for name, down in (("restart-source", Cause.SOURCE_DOWN), ("restart-target", Cause.TARGET_DOWN))
    ),
    _slow(name="transactions", title="offsets-transactions", verdict=None, own=True, watch_s=240),
    _slow(name="compact-unread", title="offsets-compaction", verdict=None, own=True, watch_s=400),
    _slow(name="add-partitions", title="offsets-add-partitions", verdict=None, topic="payments", watch_s=200),
    # The mirror keeps up, though both logs begin behind the offsets that it writes once a minute.
    _slow(name="expire-quickly", title="offsets-expire-quickly", verdict=None, topic="payments", watch_s=200),
    Drill(
        name="add-partitions",
        title="offsets-add-partitions-soon",
        verdict=None,
        by_offsets=True,
        topic="stock-levels",
        watch_s=90,
        back_s=180,
    ),
    # Records that are left out in the middle are a suspicion, which leaves the verdict alone.
    _left_out(name="drop-some", title="offsets-drop-some", topic="payments"),
    _left_out(name="drop-tombstones", title="offsets-drop-tombstones"),
    _slow(
        name="recreate-source-topic",
        title="offsets-recreate-running",
        verdict=None,
        topic="payments",
        accepted=frozenset({Cause.TOPIC_RECREATED}),
        watch_s=240,
    ),
    # The mirror's offsets are kept there too: while it is away nothing tells where the mirror is.
    _slow(
        name="kill-target",
        title="offsets-kill-target",
        verdict=Verdict.UNKNOWN,
        cause=Cause.TARGET_DOWN,
        settings=_LEAVES_ALONE,
        back_s=600,
    ),
    _slow(
        name="refuse-offsets",
        title="offsets-refuse-offsets",
        verdict=Verdict.UNKNOWN,
        cause=Cause.OFFSETS_NOT_COMMITTING,
    ),
    Drill(
        name="forget-offsets",
        title="offsets-forget-offsets",
        by_offsets=True,
        verdict=None,  # at-least-once delivery allows it: it is an event, with its numbers
        accepted=_STANDS | {Cause.TASK_FAILED, Cause.DUPLICATING},
        happened="replayed",
        sweeping=True,
        watch_s=120.0,
        back_s=300.0,
    ),
    Drill(
        name="take-over",
        title="offsets-take-over",
        by_offsets=True,
        verdict=None,  # how long nothing is copied depends on how soon the other worker takes over
        accepted=_STANDS | {Cause.TASK_FAILED},
        happened="went_back",
        settings=_JOINT,
        watch_s=120.0,
        back_s=300.0,
    ),
    # --- it stands
    _slow(
        name="freeze-mirror", title="offsets-freeze-mirror", verdict=Verdict.STALLED, cause=Cause.MIRROR_DOWN
    ),
    _slow(name="kill-mirror", title="offsets-kill-mirror", verdict=Verdict.STALLED, cause=Cause.MIRROR_DOWN),
    _slow(
        name="hang-one-task",
        title="offsets-hang-one-task",
        topic="page-views",
        verdict=Verdict.STALLED,
        cause=Cause.TASK_STUCK,
    ),
    *(
        # Its task continues with others: what stands is left out on the way.
        _slow(
            name=name,
            title=f"offsets-{name}",
            topic="payments",
            verdict=Verdict.STALLED,
            cause=Cause.FILTERED,
            accepted=_STANDS,
            watch_s=400,
        )
        for name in ("drop-partition", "drop-topic")
    ),
    # Other partitions continue; these have no more traffic.
    *(
        Drill(
            name="drop-tail",
            title=title,
            verdict=Verdict.STALLED,
            cause=Cause.FILTERED,
            accepted=_STANDS,
            by_offsets=True,
            own=True,
            settings=settings,
            watch_s=watch_s,  # 130 s of them before they are written
            back_s=300.0,
        )
        for title, settings, watch_s in (
            ("offsets-drop-tail", DEFAULTS, 600.0),
            ("offsets-drop-tail-soon", {}, 300.0),
        )
    ),
    _slow(
        name="exclude-topic",
        title="offsets-exclude-topic",
        topic="page-views",
        verdict=Verdict.STALLED,
        cause=Cause.NOT_MIRRORED,
        accepted=_STANDS,
    ),
    _slow(
        name="pause-mirror", title="offsets-pause-mirror", verdict=Verdict.STALLED, cause=Cause.MIRROR_DOWN
    ),
    _slow(
        name="fail-one-task",
        title="offsets-fail-one-task",
        topic="page-views",
        verdict=Verdict.STALLED,
        cause=Cause.TASK_FAILED,
        accepted=_STANDS,
    ),
    _slow(
        name="delete-target-topic",
        title="offsets-delete-target-topic",
        topic="page-views",
        verdict=Verdict.STALLED,
        cause=Cause.TOPIC_MISSING,
        accepted=_STANDS | {Cause.TOPIC_RECREATED},
        sweeping=True,
        then=Verdict.LOSING,  # the mirror makes it again, and does not send again what it held
    ),
    _slow(
        name="reject-large",
        title="offsets-reject-large",
        topic="page-views",
        verdict=Verdict.STALLED,
        cause=Cause.TASK_FAILED,
        accepted=_STANDS,
        settings=DEFAULTS | OWN_SETTINGS,
    ),
    Drill(
        name="hang-transaction",
        title="offsets-hang-transaction",
        topic="page-views",
        verdict=Verdict.STALLED,
        cause=Cause.TRANSACTION_HANGS,
        by_offsets=True,
        settings={"A->B.consumer.isolation.level": "read_committed"},
        lag={"longest_transaction": "20s"},
        watch_s=200.0,
    ),
    _slow(
        name="add-partitions",
        title="offsets-add-unseen-partitions",
        topic="payments",
        verdict=Verdict.STALLED,
        cause=Cause.PARTITION_MISSING,
        settings=SOON | NEVER,
        told=TOLD_OTHERWISE,
        watch_s=660,  # whoever writes to the topic learns of its new partition within five minutes
        then=Verdict.STALLED,
    ),
    _slow(
        name="cut-source",
        title="offsets-cut-source",
        verdict=Verdict.STALLED,
        cause=Cause.MIRROR_DOWN,
        accepted=_STANDS,
        settings=DEFAULTS | PROXIED,
    ),
    # --- it loses
    _slow(
        name="overtake-frozen",
        title="offsets-overtake-frozen",
        verdict=Verdict.LOSING,
        cause=Cause.OVERTAKEN,
        accepted=_STANDS,
        sweeping=True,
        then=Verdict.LOSING,
    ),
    _slow(
        name="overtake-killed",
        title="offsets-overtake",
        topic="orders",
        verdict=Verdict.LOSING,
        cause=Cause.OVERTAKEN,
        accepted=_STANDS,
        sweeping=True,
        then=Verdict.LOSING,
    ),
    *(
        _slow(
            name=name,
            title=f"offsets-{name}",
            verdict=Verdict.LOSING,
            cause=Cause.TOPIC_RECREATED,
            accepted=_STANDS,
            sweeping=True,
            then=Verdict.LOSING,
            own=True,
            watch_s=400.0,
        )
        for name in ("recreate-longer", "recreate-away", "recreate-as-long", "recreate-after-burst")
    ),
    *(
        _slow(
            name=name,
            title=title,
            topic="page-views",
            verdict=Verdict.LOSING,
            cause=Cause.TOPIC_RECREATED,
            sweeping=True,
            then=Verdict.LOSING,
        )
        for name, title in (
            ("recreate-target-topic", "offsets-recreate-target"),
            ("recreate-target-after-burst", "offsets-recreate-target-after-burst"),
        )
    ),
    _slow(
        name="drop-new-topic",
        title="offsets-drop-new-topic",
        verdict=Verdict.LOSING,
        cause=Cause.FILTERED,
        accepted=frozenset({Cause.NOT_MIRRORED}),
        watch_s=480,
        sweeping=True,
        then=Verdict.LOSING,
        settings=SOON,
        own=True,
    ),
    # --- it changes
    _slow(
        name="stamp-anew",
        title="offsets-stamp-anew",
        topic="orders",
        verdict=Verdict.ALTERED,
        cause=Cause.RETIMED,
        sweeping=True,
        then=Verdict.ALTERED,
    ),
)
