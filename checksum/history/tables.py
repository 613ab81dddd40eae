"""The tables of checksums in the store, and their migrations.

An active run has a row in `checksum_open`, one for each flow, and nothing else: its result is written to the
other tables in one transaction at its end. Until its command has reported it, it is in `checksum_untold`: if
the command is killed, the next one reports it. Runs queued for a service are in `checksum_owed`. A run
received from elsewhere is in `checksum_taken`.
"""

from __future__ import annotations

import sqlalchemy as sa

from runtime.store.migrations import Migration, create

_METADATA = sa.MetaData()

OPEN = sa.Table(
    "checksum_open",
    _METADATA,
    sa.Column("flow", sa.String(300), primary_key=True),
    sa.Column("run", sa.String(64), nullable=False),
    sa.Column("plan", sa.String(64), nullable=False),
    sa.Column("who", sa.String(300), nullable=False),
    sa.Column("process", sa.Text, nullable=False),
    sa.Column("begun_ms", sa.BigInteger, nullable=False),
    sa.Column("beaten_ms", sa.BigInteger, nullable=False),
    sa.Column("counts_only", sa.Boolean, nullable=False),
)
RUNS = sa.Table(
    "checksum_runs",
    _METADATA,
    sa.Column("run", sa.String(64), primary_key=True),
    sa.Column("flow", sa.String(300), nullable=False),
    sa.Column("plan", sa.String(64), nullable=False),
    sa.Column("who", sa.String(300), nullable=False),
    sa.Column("begun_ms", sa.BigInteger, nullable=False),
    sa.Column("ended_ms", sa.BigInteger, nullable=False),
    sa.Column("status", sa.Integer, nullable=False),
    sa.Column("counts_only", sa.Boolean, nullable=False),
    sa.Column("coverage", sa.Float),
    sa.Column("findings", sa.BigInteger, nullable=False),
    sa.Column("source_records", sa.BigInteger, nullable=False),
    sa.Column("target_records", sa.BigInteger, nullable=False),
    sa.Column("document", sa.LargeBinary, nullable=False),  # zlib over JSON
    sa.Index("checksum_runs_by_flow", "flow", "ended_ms"),
)
VERIFIED = sa.Table(
    "checksum_verified",
    _METADATA,
    sa.Column("flow", sa.String(300), primary_key=True),
    sa.Column("topic", sa.String(249), primary_key=True),
    sa.Column("partition", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("source_topic_id", sa.String(64)),
    sa.Column("target_topic_id", sa.String(64)),
    sa.Column("source_offset", sa.BigInteger, nullable=False),
    sa.Column("target_offset", sa.BigInteger, nullable=False),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
    sa.Column("held", sa.Integer, nullable=False),
)
COUNTS = sa.Table(
    "checksum_counts",
    _METADATA,
    sa.Column("flow", sa.String(300), primary_key=True),
    sa.Column("topic", sa.String(249), primary_key=True),
    sa.Column("partition", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("bucket_at_ms", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("source_topic_id", sa.String(64), primary_key=True),  # "" if unknown
    sa.Column("since_offset", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("source_records", sa.BigInteger, nullable=False),
    sa.Column("target_records", sa.BigInteger, nullable=False),
    sa.Column("written_ms", sa.BigInteger, nullable=False),
    sa.Index("checksum_counts_by_age", "written_ms"),
)
UNREPORTED = sa.Table(
    "checksum_untold",
    _METADATA,
    sa.Column("run", sa.String(64), primary_key=True),
    sa.Column("flow", sa.String(300), nullable=False),
    sa.Column("process", sa.Text, nullable=False),  # the process that should report it
)
UNPOSTED = sa.Table(
    "checksum_owed",
    _METADATA,
    sa.Column("run", sa.String(64), primary_key=True),
    sa.Column("flow", sa.String(300), nullable=False),
)
TAKEN = sa.Table(
    "checksum_taken",
    _METADATA,
    sa.Column("run", sa.String(64), primary_key=True),
    sa.Column("flow", sa.String(300), nullable=False),
    sa.Column("taken_ms", sa.BigInteger, nullable=False),  # when a service on this store received it
    sa.Index("checksum_taken_by_flow", "flow", "taken_ms"),
)

MIGRATIONS = (
    Migration("checksum", 1, "checksum runs, verified up to, counts", create(OPEN, RUNS, VERIFIED, COUNTS)),
    Migration("checksum", 2, "checksum runs that are not reported yet", create(UNREPORTED)),
    Migration("checksum", 3, "checksum runs that are queued for a service", create(UNPOSTED)),
    Migration("checksum", 4, "when checksum runs from elsewhere were received", create(TAKEN)),
)
