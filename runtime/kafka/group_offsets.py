"""Consumer groups by the Admin API: names, committed offsets, members.

Every request is answered later, by one value passed to `sink`, on another thread. Groups are queried one by
one, because the client accepts one in a call. If a broker is slow, many calls are in flight, each with its
own timeout.

The client may abort the whole process: if the connection to a coordinator breaks while such a call is in
flight, librdkafka up to 2.16 fails an assertion (its issues 3663 and 4605). So run this in a separate process
(`runtime.kafka.group_asker`).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateError
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AclOperation, AdminClient

from fleet.errors import ConfigurationError, RefusedError, UnavailableError
from runtime.kafka.admin_client import make_admin_client
from runtime.kafka.failures import Symptoms, explain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fleet.errors import MirrorwatchError
    from runtime.kafka.properties.client_settings import ClientSettings

MAX_GROUPS = 100_000  # of one list
_GRACE_S = 5.0  # after the time limit of a request
ANY_GROUP = "mirrorwatch-may-describe"  # of no group: what is answered about it shows a right


@dataclass(frozen=True, slots=True)
class GroupsListed:
    """The consumer groups, classic and KIP-848, by name with the state of each, in lower case.

    `problem` is why brokers did not answer; their groups are missing. `simple` are the groups that never had
    a member.
    """

    states: dict[str, str]
    problem: str = ""
    simple: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupsOfAnyKind:
    """Number of groups that are not consumer groups: share groups, groups of workers and others."""

    others: int


@dataclass(frozen=True, slots=True)
class OffsetsTold:
    """What one group has committed: topic, partition and offset; nothing where there is no such group.

    `withheld` are positions that the cluster did not tell, for want of a right or of a leader.
    """

    group: str
    offsets: list[tuple[str, int, int]]
    withheld: int = 0


@dataclass(frozen=True, slots=True)
class MembersTold:
    """Who is in a group: member id, client id, host and the partitions that it was given, by topic."""

    group: str
    state: str
    members: list[tuple[str, str, str, list[tuple[str, list[int]]]]]


@dataclass(frozen=True, slots=True)
class MembersCounted:
    """The number of members of a group of any kind, 0 if there is no such group."""

    group: str
    members: int


@dataclass(frozen=True, slots=True)
class Failed:
    """A request without an answer: `about` is its kind, `group` its group or ""."""

    about: str
    group: str
    sentence: str
    refused: bool


@dataclass(frozen=True, slots=True)
class RightTold:
    """Whether groups may be described: of those that may not a list tells nothing, nor that it is short."""

    granted: bool


Told = GroupsListed | GroupsOfAnyKind | OffsetsTold | MembersTold | MembersCounted | Failed | RightTold


class GroupOffsets:
    """Queries one cluster with one client."""

    def __init__(
        self, settings: ClientSettings, *, cluster: str, timeout_s: float, sink: Callable[[Told], None]
    ) -> None:
        self._cluster = cluster
        self._timeout_s = timeout_s
        self._sink = sink
        self._symptoms = Symptoms()
        self._waiting = ThreadPoolExecutor(1, thread_name_prefix="groups")
        self._client = make_admin_client(
            settings, cluster=cluster, name=f"{cluster}-groups", symptoms=self._symptoms
        )

    def list_groups(self) -> None:
        """Request the list of consumer groups."""
        asked = self._client.list_consumer_groups(request_timeout=self._timeout_s)
        asked.add_done_callback(lambda future: self._sink(self._listed(future)))

    def count_others(self) -> None:
        """Request the number of groups of other kinds."""
        self._waiting.submit(self._count_others)

    def ask_right(self) -> None:
        """Request whether groups may be described."""
        self._waiting.submit(self._ask_right)

    def ask(self, group: str) -> None:
        """Request the committed offsets of a group."""
        if not _speakable(group):
            self._sink(self._not_asked("offsets", group))
            return
        futures = self._client.list_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(group)], request_timeout=self._timeout_s
        )
        for future in futures.values():
            future.add_done_callback(partial(self._heed_offsets, group))

    def describe(self, groups: Sequence[str]) -> None:
        """Request the members of these groups."""
        asked = [group for group in groups if _speakable(group)]
        for group in groups:
            if not _speakable(group):
                self._sink(self._not_asked("members", group))
        if not asked:
            return
        futures = self._client.describe_consumer_groups(asked, request_timeout=self._timeout_s)
        for group, future in futures.items():
            future.add_done_callback(partial(self._heed_members, group))

    def count_members(self, group: str) -> None:
        """Request the number of members of a group of any kind, such as that of Connect workers."""
        if not _speakable(group):
            self._sink(self._not_asked("members", group))
            return
        self._waiting.submit(self._count_members, group)

    def hear(self) -> None:
        """Take in what the connections have said; call it now and then."""
        self._client.poll(0)

    def _listed(self, future: Any) -> Told:
        try:
            found = future.result()
        except KafkaException as error:
            return self._failed("list", "", error.args[0], "reading the list of consumer groups")
        if not found.errors:
            self._symptoms.clear()
        states = {one.group_id: one.state.name.lower() for one in found.valid}
        if len(states) > MAX_GROUPS:  # the same ones each time
            states = {name: states[name] for name in sorted(states)[:MAX_GROUPS]}
        problem = ""
        for fault in found.errors[:1]:
            problem = str(self._explained(fault, "reading the list of consumer groups"))
        simple = tuple(one.group_id for one in found.valid if one.is_simple_consumer_group)
        return GroupsListed(states, problem, simple)

    def _count_others(self) -> None:
        doing = "counting groups of other kinds"
        try:
            every = self._groups_of_any_kind()
            asked = self._client.list_consumer_groups(request_timeout=self._timeout_s)
            consumers = asked.result(self._timeout_s)
        except KafkaException as error:
            self._sink(self._failed("others", "", error.args[0], doing))
            return
        except LateError:
            sentence = f"cluster {self._cluster}: {doing} had no answer within {self._timeout_s:g} s"
            self._sink(Failed("others", "", sentence, refused=False))
            return
        if consumers.errors:  # what a broker did not list would count as of another kind
            self._sink(self._failed("others", "", consumers.errors[0], doing))
            return
        known = {one.group_id for one in consumers.valid}
        self._sink(GroupsOfAnyKind(sum(one.id not in known for one in every)))

    def _count_members(self, group: str) -> None:
        try:
            found = self._groups_of_any_kind(group)
        except KafkaException as error:
            self._sink(self._failed("members", group, error.args[0], f"counting the members of {group}"))
            return
        refused = next((one.error for one in found if one.error is not None), None)
        if refused is not None:
            self._sink(self._failed("members", group, refused, f"counting the members of {group}"))
            return
        self._sink(MembersCounted(group, sum(len(one.members) for one in found)))

    def _groups_of_any_kind(self, *group: str) -> list[Any]:
        """Return all groups, or one; by the old call, which alone shows groups of every kind.

        It is deprecated in a class of its own.
        """
        client: Any = super(AdminClient, cast("AdminClient", self._client))
        found: list[Any] = client.list_groups(*group, timeout=self._timeout_s)
        return found

    def _ask_right(self) -> None:
        """Who may describe the cluster is shown every group. Of others a group's offsets are asked for.

        In this order, because that question has a cluster without any group make the topic of their commits.
        """
        try:
            asked = self._client.describe_cluster(
                include_authorized_operations=True, request_timeout=self._timeout_s
            )
            found = asked.result(self._timeout_s)
            granted = AclOperation.DESCRIBE in (found.authorized_operations or ())
            if not granted:
                (future,) = self._client.list_consumer_group_offsets(
                    [ConsumerGroupTopicPartitions(ANY_GROUP)], request_timeout=self._timeout_s
                ).values()
                future.result(self._timeout_s)
                granted = True
        except KafkaException as error:
            if error.args[0].code() != KafkaError.GROUP_AUTHORIZATION_FAILED:
                return  # that tells of no right; the next list is followed by the same question
            granted = False
        except LateError:
            return
        self._sink(RightTold(granted))

    def _heed_offsets(self, group: str, future: Any) -> None:
        self._sink(self._offsets(group, future))

    def _heed_members(self, group: str, future: Any) -> None:
        self._sink(self._members(group, future))

    def _offsets(self, group: str, future: Any) -> Told:
        try:
            places = future.result().topic_partitions
        except KafkaException as error:
            return self._failed("offsets", group, error.args[0], "reading what a group has committed")
        self._symptoms.clear()
        good = [(one.topic, one.partition, one.offset) for one in places if one.error is None]
        return OffsetsTold(group, good, len(places) - len(good))

    def _members(self, group: str, future: Any) -> Told:
        try:
            found = future.result()
        except KafkaException as error:
            return self._failed("members", group, error.args[0], "reading who is in a group")
        members = [(one.member_id, one.client_id, one.host, _given(one)) for one in found.members]
        return MembersTold(group, found.state.name.lower(), members)

    def _failed(self, about: str, group: str, error: KafkaError, doing: str) -> Failed:
        why = self._explained(error, doing)
        return Failed(about, group, str(why), isinstance(why, RefusedError | ConfigurationError))

    def _not_asked(self, about: str, group: str) -> Failed:
        sentence = f"cluster {self._cluster}: the client cannot query a group named {group!r}"
        return Failed(about, group, sentence, refused=True)

    def _explained(self, error: KafkaError, doing: str) -> MirrorwatchError:
        return explain(error, cluster=self._cluster, doing=doing, symptoms=self._symptoms)


def commit_offsets(
    settings: ClientSettings,
    *,
    cluster: str,
    group: str,
    offsets: Mapping[tuple[str, int], int],
    timeout_s: float,
) -> dict[tuple[str, int], str]:
    """Commit offsets of a group; return what was not committed, with the reason. Blocks.

    A broker refuses a partition of a group with members. Raises MirrorwatchError without an answer:
    then it is unknown whether the offsets are committed.
    """
    symptoms = Symptoms()
    client = make_admin_client(settings, cluster=cluster, name=f"{cluster}-commits", symptoms=symptoms)
    places = [TopicPartition(topic, number, offset) for (topic, number), offset in offsets.items()]
    wanted = ConsumerGroupTopicPartitions(group, places)
    (future,) = client.alter_consumer_group_offsets([wanted], request_timeout=timeout_s).values()
    doing = f"committing offsets of {group}"
    try:
        answered = future.result(timeout_s + _GRACE_S).topic_partitions
    except KafkaException as error:
        raise explain(error.args[0], cluster=cluster, doing=doing, symptoms=symptoms) from error
    except LateError as error:
        sentence = f"cluster {cluster}: {doing} had no answer within {timeout_s:g} s"
        raise UnavailableError(sentence) from error
    return {
        (one.topic, one.partition): str(explain(one.error, cluster=cluster, doing=doing, symptoms=symptoms))
        for one in answered
        if one.error is not None
    }


def _speakable(group: str) -> bool:
    """Tell whether the client can take a name: it raises for an empty one, and others end the process."""
    try:
        return bool(group.encode()) and "\0" not in group
    except UnicodeEncodeError:
        return False


def _given(member: Any) -> list[tuple[str, list[int]]]:
    by_topic: dict[str, list[int]] = {}
    for place in member.assignment.topic_partitions if member.assignment is not None else ():
        by_topic.setdefault(place.topic, []).append(place.partition)
    return sorted(by_topic.items())
