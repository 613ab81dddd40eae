"""What is told of topics that come, go, grow and are made anew."""

from canary.site.topics import RECREATED_FOR_S, KnownTopics, TopicChange
from runtime.kafka.admin import TopicDescription


def topic(topic_id: str = "one", partitions: int = 1) -> TopicDescription:
    return TopicDescription("c", topic_id, (1,) * partitions)


def test_a_topic_is_told_at_first_sight_and_then_only_when_it_changes():
    book = KnownTopics()
    assert book.take({"c": None}, 0) == [TopicChange("c", None, None)]
    assert book.take({"c": None}, 1) == []
    assert book.take({"c": topic()}, 2) == [TopicChange("c", None, topic())]
    assert book.take({"c": topic()}, 3) == []
    assert book.take({"c": topic(partitions=2)}, 4) == [TopicChange("c", topic(), topic(partitions=2))]
    assert book.recreated_recently("c", 5) is None


def test_a_change_of_leaders_alone_is_no_change():
    book = KnownTopics()
    book.take({"c": topic()}, 0)
    assert book.take({"c": TopicDescription("c", "one", (2,))}, 1) == []


def test_another_id_at_once_or_after_an_absence_is_a_re_creation():
    for absences in (0, 1, 2):
        book = KnownTopics()
        book.take({"c": topic()}, 0)
        for look in range(absences):
            changes = book.take({"c": None}, look)
            assert changes == ([TopicChange("c", topic(), None)] if look == 0 else [])
        (change,) = book.take({"c": topic("two")}, 10)
        assert (change.old, change.new, change.replaced) == (topic(), topic("two"), True)
        assert book.recreated_recently("c", 10 + RECREATED_FOR_S) == 10
        assert book.recreated_recently("c", 10.1 + RECREATED_FOR_S) is None


def test_the_same_id_after_an_absence_is_told_and_is_no_re_creation():
    book = KnownTopics()
    book.take({"c": topic()}, 0)
    book.take({"c": None}, 1)
    (change,) = book.take({"c": topic()}, 2)
    assert not change.replaced
    assert book.recreated_recently("c", 3) is None
