"""Stores of former versions are taken over."""

from __future__ import annotations

import sqlalchemy as sa

from canary.persistence import tables

FORMER = """CREATE TABLE canary_findings (
    flow VARCHAR(300), found_at FLOAT, kind VARCHAR(20), topic VARCHAR(249), partition INTEGER, number INTEGER,
    source_offset BIGINT, target_offset BIGINT, sentence TEXT, count BIGINT, overtaken BOOLEAN, named BOOLEAN
)"""
ROW = (
    "INSERT INTO canary_findings VALUES ('A->B', 1000.5, 'lost', 't', 3, 0, 17, NULL, 'It is lost.', 2, 0, 1)"
)


def test_findings_of_a_former_version_keep_their_instant_as_the_newest():
    with sa.create_engine("sqlite://").begin() as connection:
        connection.execute(sa.text(FORMER))
        connection.execute(sa.text(ROW))
        tables.MIGRATIONS[2].apply(connection)
        ((flow, found),) = tables.findings_since(connection, 1000.0, now_at=2000.0).items()
        assert (flow, [one.at for one in found], [one.count for one in found]) == ("A->B", [1000.5], [2])
        tables.MIGRATIONS[2].apply(connection)  # a second time changes nothing
        assert tables.findings_since(connection, 1000.0, now_at=2000.0) == {flow: found}


def test_a_new_store_has_the_column_from_the_beginning():
    with sa.create_engine("sqlite://").begin() as connection:
        for step in tables.MIGRATIONS:
            step.apply(connection)
        assert tables.findings_since(connection, 0.0, now_at=2000.0) == {}
