"""A mirror that replicates topics which its configuration, as it was read, excludes."""

from __future__ import annotations

import pytest

from fleet.mm2.filters import TopicFilter
from fleet.verdicts.vocabulary import Verdict
from tests.lagmon.mirror_flows import Mirrored, told

TOLD = "Not watched: the mirror replicates 1 topic of A that its configuration leaves out"


def changed(topics=("orders", "payments"), **how):
    """Return a flow whose configuration names orders alone, and whose mirror copies all of these."""
    flow = {"topic_filter": TopicFilter("orders"), "topics_read": True, **how}
    one = Mirrored(dict.fromkeys(topics, 1), **flow)
    one.copies = topics
    one.poll()
    return one


def copying(one, *, others=True):
    def each():
        for topic in one.copies if others else ("orders",):
            one.write(10, topic)
            one.commit(topic)

    return each


def test_a_topic_that_is_replicated_though_it_is_skipped_is_reported_and_changes_no_verdict():
    one = changed()
    one.go(60, each=copying(one))
    assert one.snapshot().unwatched == ("payments",)
    assert told(one) == (Verdict.HEALTHY, None)
    assert one.verdict().sentence.endswith(
        f"{TOLD}, as Mirrorwatch read it: payments. Reload Mirrorwatch (SIGHUP), or restart the mirror if it"
        " still runs with an older configuration."
    )


def test_of_many_some_are_named():
    one = changed(("orders", *(f"topic-{number:04}" for number in range(2000))))
    one.go(60, each=copying(one), step=20)
    assert (
        "replicates 2,000 topics of A that its configuration leaves out, as Mirrorwatch read it:"
        " topic-0000, topic-0001, topic-0002 and 1,997 more." in one.verdict().sentence
    )


def test_what_is_not_replicated_any_more_is_not_reported():
    one = changed()
    one.go(60, each=copying(one))
    one.go(280, each=copying(one, others=False), step=10)
    assert TOLD in one.verdict().sentence
    one.go(30, each=copying(one, others=False), step=10)
    assert TOLD not in one.verdict().sentence


def test_what_it_replicated_before_the_configuration_was_taken_over_is_not_reported():
    """Nor what it wrote last, while it was restarted with the same one."""
    one = changed()
    one.commit("payments")
    one.go(10, each=copying(one))
    one.go(300, each=copying(one, others=False))
    assert one.snapshot().unwatched == ()


def test_a_topic_that_is_gone_is_not_reported():
    one = changed()
    one.go(60, each=copying(one))
    one.a.note_topics({"orders": 1})
    assert one.snapshot().unwatched == ()


@pytest.mark.parametrize(
    ("how", "tells"),
    [
        ({}, True),
        ({"topics_read": False}, False),  # the operator says which topics to watch, of those that it carries
        ({"on_connect": True, "connector": "ours", "offset_storage_topic": "connect-offsets"}, True),
        # Nothing tells which of a worker's connectors they are of.
        ({"on_connect": True, "connector": "", "offset_storage_topic": "connect-offsets"}, False),
        ({"lag_from": "offset-syncs"}, False),
    ],
)
def test_what_may_be_another_connectors_or_is_skipped_by_hand_is_not_reported(how, tells):
    one = changed(**how)
    one.go(60, each=copying(one))
    assert one.snapshot().unwatched == (("payments",) if tells else ())
