"""A process that was started twice on one store under one name is told so."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from canary.persistence.leases import Incarnation
from mirrorwatch.service.duplicate_processes import duplicate_warning
from runtime.process.identity import this_process

NOW = 1_800_000_000.0
OURS = this_process()
ELSEWHERE = replace(OURS, boot="another").text()
GONE = replace(OURS, began="1").text()


def row(**more):
    said = {
        "incarnation": "other",
        "replica": "here",
        "process": OURS.text(),
        "flows": frozenset({"A->B"}),
        "begun_at": NOW - 60,
        "renewed_at": NOW - 0.5,
        "ended": False,
        "taken_over_by": "",
        "closed": False,
    }
    return Incarnation(**(said | more))


def told(*rows, probing=True):
    return duplicate_warning(rows, replica="here", incarnation="ours", now_at=NOW, probing=probing)


def test_a_process_of_this_machine_is_named():
    assert told(row(incarnation="ours"), row()) == (
        f"process {os.getpid()} also uses this store with the name 'here', so every flow that both watch is"
        " probed twice; stop one of them, or give each its own store.replica"
    )


def test_without_a_canary_nothing_is_probed_twice():
    said = told(row(), probing=False)
    assert "probed" not in said
    assert "so each overwrites the state that the other stores; stop one" in said


def test_one_of_another_machine_is_reported_without_a_number_that_means_nothing_here():
    assert told(row(process=ELSEWHERE)).startswith("a process of another machine or container also uses")


@pytest.mark.parametrize(
    "other",
    [
        row(incarnation="ours"),
        row(replica="there"),
        row(ended=True),
        row(taken_over_by="ours"),
        row(process=GONE),
        row(process=ELSEWHERE, renewed_at=NOW - 601),
    ],
    ids=["ours", "another name", "ended", "taken over", "gone", "silent"],
)
def test_nothing_is_reported_of_any_other(other):
    assert told(other) is None
