"""Faults that a mirror's offsets show: what retention takes, what is passed over, what looks like lag."""

from __future__ import annotations

import signal

from deploy.local import acts, acts_records, acts_topics
from deploy.local.fault import Fault

OFFSET_FAULTS: tuple[Fault, ...] = (
    Fault(
        name="overtake-frozen",
        sentence="While MirrorMaker is frozen, records that it has not replicated are deleted on the source.",
        begin=acts_records.overtake_frozen,
        end=acts.send("mirror", signal.SIGCONT),
        topic="orders",
    ),
    Fault(
        name="take-over",
        sentence="A frozen worker of MirrorMaker continues after another one of its group took over.",
        begin=acts_topics.freeze_beside("worker"),
        end=acts.send("mirror", signal.SIGCONT),
    ),
    Fault(
        name="overtake-killed",
        sentence="While MirrorMaker is down, many unreplicated records are deleted on the source.",
        begin=acts_records.overtake_killed,
        end=acts.start("mirror"),
        topic="orders",
    ),
    Fault(
        name="recreate-longer",
        sentence="While the mirror is stopped, a source topic is re-created with more records than it had.",
        begin=acts_records.recreate(900),
        end=acts.nothing,
    ),
    Fault(
        name="recreate-away",
        sentence="While the mirror is stopped, a source topic is deleted, and re-created longer 80 s later.",
        begin=acts_records.recreate(900, away_s=80.0),
        end=acts.nothing,
    ),
    Fault(
        name="recreate-after-burst",
        sentence="After a burst of records the mirror is stopped, and a source topic re-created with more.",
        begin=acts_records.recreate(2600, burst=600),
        end=acts.nothing,
    ),
    Fault(
        name="recreate-target-after-burst",
        sentence="A mirrored topic is re-created on the target as soon as a burst of records is replicated.",
        begin=acts_records.recreate_target_after_burst,
        end=acts.nothing,
        topic="page-views",
    ),
    Fault(
        name="recreate-as-long",
        sentence="While the mirror is stopped, a source topic is re-created with as many records as it had.",
        begin=acts_records.recreate(acts_records.FILLED),
        end=acts.nothing,
    ),
    Fault(
        name="refuse-offsets",
        sentence="The mirror continues, but the topic of its own offsets refuses records.",
        begin=acts_topics.alter_offsets({"max.message.bytes": "50"}),
        end=acts_topics.alter_offsets({"max.message.bytes": None}),
    ),
    Fault(
        name="drop-new-topic",
        sentence="The mirror silently drops every record of a topic, from its first one on.",
        begin=acts_topics.in_turn(acts.switch("drop"), acts_records.write(200)),
        end=acts.switch_off,
    ),
    Fault(
        name="drop-tail",
        sentence="The mirror silently drops the last five records of each partition; no more are written.",
        begin=acts_records.drop_tail,
        # It passes them with the next ones that it copies.
        end=acts_topics.in_turn(acts.switch_off, acts_records.write(50)),
    ),
    Fault(
        name="compact-unread",
        sentence="Compaction removes most records that are written while the mirror is stopped.",
        begin=acts_records.compact_unread,
        end=acts.nothing,
    ),
    Fault(
        name="transactions",
        sentence="Transactions are written, half of them aborted: the log ends in unreadable records.",
        begin=acts_records.write_transactions,
        end=acts.nothing,
    ),
    Fault(
        name="hang-transaction",
        sentence="A producer leaves a transaction open; the mirror reads committed records only.",
        begin=acts_records.leave_transaction_open,
        end=acts_records.abort_open_transaction,
    ),
)
