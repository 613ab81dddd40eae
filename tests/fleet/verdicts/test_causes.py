"""Each cause is declared once, and what is generated from it is that of today."""

from __future__ import annotations

from pathlib import Path

import pytest

from alerts.rules.tickets import ticket_group
from fleet.verdicts.page import causes_page
from fleet.verdicts.vocabulary import Cause

ROOT = Path(__file__).parents[3]
LONGEST_WORDS = 25


def test_a_cause_is_its_code():
    assert Cause("paused") is Cause.PAUSED
    assert (str(Cause.PAUSED), Cause.PAUSED.value, f"{Cause.PAUSED}") == ("paused",) * 3


@pytest.mark.parametrize("one", Cause)
def test_each_sentence_is_one_and_short_enough_to_read(one):
    for sentence in (one.meaning, one.to_do):
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert len(sentence.split()) <= LONGEST_WORDS


@pytest.mark.parametrize("one", [one for one in Cause if one.lost])
def test_why_records_are_lost_names_no_other_place_than_the_two_clusters(one):
    assert "{" not in one.lost.format(source="A", target="B")


def test_each_ticket_of_a_cause_is_an_alert_on_it():
    alerts = {one.name: one for one in ticket_group((), (), audits_failover=True).rules}
    tickets = [one for one in Cause if one.ticket is not None]
    assert len(tickets) == 5
    for one in tickets:
        alert = alerts[one.ticket.alert]
        assert f'cause="{one.value}"' in alert.expression
        assert (alert.for_s, alert.summary) == (one.ticket.for_s, one.ticket.summary)


def test_the_reference_is_that_of_today():
    page = (ROOT / "docs" / "reference" / "causes.md").read_text(encoding="utf-8")
    assert page == causes_page(), "python -m fleet.verdicts.page > docs/reference/causes.md"
