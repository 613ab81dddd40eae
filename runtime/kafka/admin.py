"""Describe clusters and topics, read offsets, and create topics.

Every call has a timeout and raises only MirrorwatchErrors. The client keeps its futures alive only while it
lives, so each `ClusterAdmin` holds one client from `open` to `close`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
)

from fleet.errors import MirrorwatchError, RefusedError, UnavailableError
from fleet.topic_acls import TopicAcl, TopicAcls
from fleet.topic_settings import Origin, Setting
from runtime.kafka.admin_client import make_admin_client
from runtime.kafka.failures import Symptoms, explain
from runtime.kafka.topic_ids import known_id

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

    from runtime.kafka.properties.client_settings import ClientSettings

_LENIENT_S = 2.0  # what can be had later is not waited for longer
_GRACE_S = 2.0  # the client's own timeout comes first, with a better word for what is wrong
_REFUSED_S = 3.0  # librdkafka tries refused credentials until the timeout; after this a refusal is final
CHUNK = 500  # partitions in one request for offsets
SETTINGS_CHUNK = 200  # topics in one request for their settings, some kilobytes each
MAX_TOPICS = 100_000  # names in one list
AUTHORIZER = "authorizer.class.name"
_ORIGINS = {
    ConfigSource.DYNAMIC_TOPIC_CONFIG: Origin.TOPIC,
    ConfigSource.DYNAMIC_BROKER_CONFIG: Origin.BROKER,
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG: Origin.BROKER,
    ConfigSource.STATIC_BROKER_CONFIG: Origin.STATIC,
}


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """A cluster's id and its brokers by number."""

    cluster_id: str
    brokers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """An existing topic: its id, and leader (or None) and replicas of each partition."""

    name: str
    topic_id: str
    leaders: tuple[int | None, ...]
    replicas: tuple[int, ...] = ()

    @property
    def partitions(self) -> int:
        """Return how many partitions it has."""
        return len(self.leaders)

    @property
    def known_id(self) -> str | None:
        """Return its id, None where the broker knows of none: what such a one tells is alike for all."""
        return known_id(self.topic_id)


@dataclass(frozen=True, slots=True)
class NewTopicRequest:
    """A topic to create; a replication factor of -1 is the cluster's default."""

    name: str
    partitions: int
    config: Mapping[str, str]
    replication_factor: int = -1


class ClusterAdmin:
    """Queries one cluster with one client."""

    def __init__(self, settings: ClientSettings, *, cluster: str, timeout_s: float = 10.0) -> None:
        self._settings = settings
        self._cluster = cluster
        self._timeout_s = timeout_s
        self._client: Any = None
        self._symptoms = Symptoms()
        self._has_answered = False

    async def open(self) -> None:
        """Create the client; it connects at the first request.

        Raises ConfigurationError where the client does not accept its settings.
        """
        self._client = await asyncio.to_thread(
            make_admin_client,
            self._settings,
            cluster=self._cluster,
            name=f"{self._cluster}-admin",
            symptoms=self._symptoms,
        )

    async def close(self) -> None:
        """Let the client go; closing it waits for its threads, so not on the event loop."""
        held, self._client = [self._client], None
        await asyncio.to_thread(held.clear)  # the last reference: nothing here may hold another one meanwhile

    async def describe_cluster(self) -> ClusterDescription:
        """Return the cluster's id and brokers; proves that it can be reached with these credentials."""
        found = await self._ask(
            self._client.describe_cluster(request_timeout=self._timeout_s), "describing the cluster"
        )
        return ClusterDescription(found.cluster_id, tuple(sorted(node.id for node in found.nodes)))

    async def describe_topics(self, names: Iterable[str]) -> dict[str, TopicDescription | None]:
        """Return each topic by its name, None if it does not exist."""
        wanted = list(dict.fromkeys(names))
        if not wanted:
            return {}
        try:
            return await self._describe(wanted, timeout_s=self._timeout_s / 2)
        except UnavailableError:
            # The client asks the one broker that it takes for the controller, and goes on with that for long
            # after it has died. Metadata, which it takes from any broker, tells it of another.
            with suppress(MirrorwatchError):
                await self._metadata(wanted[0], timeout_s=self._timeout_s / 2)
            return await self._describe(wanted, timeout_s=self._timeout_s / 2)

    async def _describe(self, names: list[str], *, timeout_s: float) -> dict[str, TopicDescription | None]:
        futures = self._client.describe_topics(TopicCollection(names), request_timeout=timeout_s)
        found: dict[str, TopicDescription | None] = {}
        for name, future in futures.items():
            try:
                topic = await self._ask(future, f"describing the topic {name}")
            except UnavailableError as error:
                if not is_unknown_topic(error):
                    raise
                found[name] = None
            else:
                partitions = sorted(topic.partitions, key=lambda partition: partition.id)
                leaders = tuple(
                    partition.leader.id if partition.leader is not None and partition.leader.id >= 0 else None
                    for partition in partitions
                )
                replicas = tuple(len(partition.replicas) for partition in partitions)
                found[name] = TopicDescription(name, str(topic.topic_id), leaders, replicas)
        return found

    async def describe_topic_config(self, name: str) -> dict[str, str]:
        """Return the effective settings of a topic, defaults of its cluster included.

        Raises RefusedError without the permission DescribeConfigs on the topic.
        """
        return (await self.describe_topic_configs([name]))[name]

    async def describe_topic_configs(self, names: Iterable[str]) -> dict[str, dict[str, str]]:
        """Return the same of many topics by their names; raises what the first one in the way does."""
        found: dict[str, dict[str, str]] = {}
        async for name, settings in self.describe_topic_settings(names):
            if isinstance(settings, MirrorwatchError):
                raise settings
            found[name] = {key: one.value for key, one in settings.items()}
        return found

    async def describe_topic_settings(
        self, names: Iterable[str]
    ) -> AsyncIterator[tuple[str, dict[str, Setting] | MirrorwatchError]]:
        """Yield each topic with its settings and where each comes from, or with why they cannot be read.

        Settings without a value, such as secret ones, are left out. Equal ones of many topics are one object.
        """
        wanted, known = list(dict.fromkeys(names)), dict[tuple[str, Any], Setting]()
        chunks = [wanted[start : start + SETTINGS_CHUNK] for start in range(0, len(wanted), SETTINGS_CHUNK)]
        ahead = self._settings_of(chunks[0]) if chunks else {}
        for number in range(len(chunks)):
            # The broker answers the next request while this answer is read.
            futures, ahead = ahead, self._settings_of(chunks[number + 1]) if chunks[number + 1 :] else {}
            for resource, future in futures.items():
                try:
                    entries = await self._ask(future, f"reading the settings of the topic {resource.name}")
                except MirrorwatchError as error:
                    yield resource.name, error
                    continue
                settings = {}
                for key, entry in entries.items():
                    if entry.value is not None:
                        place = (entry.value, entry.source)
                        if place not in known:
                            known[place] = Setting(entry.value, _origin(entry.source))
                        settings[key] = known[place]
                yield resource.name, settings

    def _settings_of(self, names: Iterable[str]) -> dict[Any, Any]:
        asked = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in names]
        return dict(self._client.describe_configs(asked, request_timeout=self._timeout_s))

    async def list_topics(self) -> tuple[str, ...]:
        """Return the names of all topics that the principal may see, in order, at most MAX_TOPICS."""
        found = await self._metadata(None, timeout_s=self._timeout_s)
        return tuple(sorted(found.topics)[:MAX_TOPICS])

    async def count_partitions(self) -> dict[str, int]:
        """Return how many partitions each topic has that the principal may see."""
        found = await self._metadata(None, timeout_s=self._timeout_s)
        return {name: len(topic.partitions) for name, topic in found.topics.items()}

    async def hidden_topics(self, names: Sequence[str]) -> frozenset[str]:
        """Return those of these topics that the principal may not see, whether they exist or not."""
        found = set()
        for start in range(0, len(names), CHUNK):
            futures = self._client.describe_topics(
                TopicCollection(list(names[start : start + CHUNK])), request_timeout=self._timeout_s
            )
            for name, future in futures.items():
                try:
                    await self._ask(future, f"describing the topic {name}")
                except RefusedError:
                    found.add(name)
                except UnavailableError as error:
                    if not is_unknown_topic(error):
                        raise
        return frozenset(found)

    async def oldest_records_ms(self, partitions: Mapping[str, int]) -> dict[str, int]:
        """Return the timestamp of the oldest record of topics from which no record was deleted, epoch ms.

        `partitions` are how many each has. Topics without records, and those that cannot be read, are left
        out.
        """
        places = [TopicPartition(topic, one) for topic, count in partitions.items() for one in range(count)]
        oldest: dict[str, int] = {}
        cut = set()
        for start in range(0, len(places), CHUNK):
            chunk = dict.fromkeys(places[start : start + CHUNK], OffsetSpec.for_timestamp(0))
            for place, future in self._client.list_offsets(chunk, request_timeout=self._timeout_s).items():
                try:
                    first = await self._ask(future, f"reading the oldest record of {place.topic}")
                except MirrorwatchError:
                    cut.add(place.topic)
                    continue
                if first.offset > 0:
                    cut.add(place.topic)
                elif first.offset == 0 and first.timestamp >= 0:
                    oldest[place.topic] = min(first.timestamp, oldest.get(place.topic, first.timestamp))
        return {topic: at_ms for topic, at_ms in oldest.items() if topic not in cut}

    async def describe_topic_acls(self) -> TopicAcls:
        """Return the ACLs on topics, or why they cannot be read.

        The client returns an empty list also if the principal has no permission, or if the cluster has no
        authorizer. So an empty one counts only with Describe on the cluster, and if a broker has an
        authorizer. It takes DescribeConfigs on the cluster to read that.
        """
        anything: Any = None  # which the types of the client do not know
        wanted = AclBindingFilter(
            ResourceType.TOPIC,
            anything,
            ResourcePatternType.ANY,
            anything,
            anything,
            AclOperation.ANY,
            AclPermissionType.ANY,
        )
        try:
            found = await self._ask(
                self._client.describe_acls(wanted, request_timeout=self._timeout_s), "reading the ACLs"
            )
            if not found and not await self._may_describe_cluster():
                why = f"the principal may not read the ACLs of {self._cluster}"
                return TopicAcls(unread=f"{why}: grant it Describe on the cluster")
            if not found and not await self._authorizer():
                return TopicAcls(has_authorizer=False)
        except MirrorwatchError as error:  # some clusters do not support ACLs at all
            if _code(error) == KafkaError.SECURITY_DISABLED:
                return TopicAcls(has_authorizer=False)
            return TopicAcls(unread=str(error))
        return TopicAcls(tuple(_acl(one) for one in found))

    async def _may_describe_cluster(self) -> bool:
        asked = self._client.describe_cluster(
            include_authorized_operations=True, request_timeout=self._timeout_s
        )
        found = await self._ask(asked, "reading the permissions on the cluster")
        return AclOperation.DESCRIBE in (found.authorized_operations or ())

    async def _authorizer(self) -> str:
        """Return the class of the authorizer of one broker; empty if it has none."""
        brokers = (await self.describe_cluster()).brokers
        asked = ConfigResource(ConfigResource.Type.BROKER, f"{brokers[0]}")
        (future,) = self._client.describe_configs([asked], request_timeout=self._timeout_s).values()
        entry = (await self._ask(future, f"reading {AUTHORIZER} of broker {brokers[0]}")).get(AUTHORIZER)
        return "" if entry is None else entry.value or ""

    async def _metadata(self, topic: str | None, *, timeout_s: float) -> Any:
        if self._has_answered:
            return await self._list_topics(topic, timeout_s=timeout_s)
        # This call cannot be ended early, so it waits briefly at first: a refusal is known by then.
        soon_s = min(_REFUSED_S, timeout_s / 2)
        with suppress(UnavailableError):
            return await self._list_topics(topic, timeout_s=soon_s)
        return await self._list_topics(topic, timeout_s=timeout_s - soon_s)

    async def _list_topics(self, topic: str | None, *, timeout_s: float) -> Any:
        asked = asyncio.get_running_loop().run_in_executor(
            None, partial(self._client.list_topics, topic, timeout=timeout_s)
        )
        return await self._ask(asked, "reading the list of topics")

    async def create_topic(self, request: NewTopicRequest) -> None:
        """Create a topic, unless another process has created it."""
        new = NewTopic(
            request.name,
            num_partitions=request.partitions,
            replication_factor=request.replication_factor,
            config=dict(request.config),
        )
        future = self._client.create_topics([new], request_timeout=self._timeout_s)[request.name]
        try:
            await self._ask(future, f"creating the topic {request.name}")
        except UnavailableError as error:
            if _code(error) != KafkaError.TOPIC_ALREADY_EXISTS:
                raise

    async def grow_topic(self, name: str, partitions: int) -> None:
        """Increase the partitions of a topic to this number."""
        new = NewPartitions(name, partitions)
        future = self._client.create_partitions([new], request_timeout=self._timeout_s)[name]
        await self._ask(future, f"adding partitions to the topic {name}")

    async def end_offsets(
        self, topic: str, partitions: Iterable[int], *, lenient: bool = False
    ) -> dict[int, int]:
        """Return the log end offset of each partition.

        `lenient`: leave out partitions whose leader does not answer soon, instead of raising
        UnavailableError.
        """
        return await self._offsets(topic, partitions, OffsetSpec.latest(), lenient=lenient)  # type: ignore[no-untyped-call]

    async def start_offsets(
        self, topic: str, partitions: Iterable[int], *, lenient: bool = False
    ) -> dict[int, int]:
        """Return the log start offset of each partition; `lenient` as in `end_offsets`."""
        return await self._offsets(topic, partitions, OffsetSpec.earliest(), lenient=lenient)  # type: ignore[no-untyped-call]

    async def offsets_since(self, topic: str, partitions: Iterable[int], *, at_ms: int) -> dict[int, int]:
        """Return the offset of the first record stamped at or after this epoch ms, else the end."""
        wanted = list(partitions)
        # The ends come first: a record that is written between the two questions must not be passed over.
        ends = await self.end_offsets(topic, wanted)
        found = await self._offsets(topic, wanted, OffsetSpec.for_timestamp(at_ms))
        return ends | {partition: offset for partition, offset in found.items() if offset >= 0}

    async def _offsets(
        self, topic: str, partitions: Iterable[int], spec: Any, *, lenient: bool = False
    ) -> dict[int, int]:
        timeout_s = min(_LENIENT_S, self._timeout_s) if lenient else self._timeout_s
        wanted = list(partitions)
        found: dict[int, int] = {}
        for start in range(0, len(wanted), CHUNK):
            chunk = {TopicPartition(topic, number): spec for number in wanted[start : start + CHUNK]}
            for place, future in self._client.list_offsets(chunk, request_timeout=timeout_s).items():
                try:
                    found[place.partition] = await self._told(future, place, timeout_s)
                except UnavailableError:
                    if not lenient:
                        raise
        return found

    async def _told(self, future: Any, place: Any, timeout_s: float) -> int:
        doing = f"reading the offsets of {place.topic}"
        offset = int((await self._ask(future, doing)).offset)
        if offset == OFFSET_INVALID:  # the client has no error for a leader that says nothing
            raise UnavailableError(
                f"cluster {self._cluster}: {doing}: no answer from the leader of partition {place.partition}"
                f" within {timeout_s:g} s; check whether that broker is up"
            )
        return offset

    async def _ask(self, future: Any, doing: str) -> Any:
        asked = asyncio.wrap_future(future)
        try:
            async with asyncio.timeout(self._timeout_s + _GRACE_S):
                await self._wait_for_refusal(asked)
                answer = await asked
        except TimeoutError as error:
            raise UnavailableError(
                f"cluster {self._cluster}: {doing} had no answer within {self._timeout_s:g} s; try again"
            ) from error
        except KafkaException as error:
            await self._hear()
            raise explain(
                error.args[0], cluster=self._cluster, doing=doing, symptoms=self._symptoms
            ) from error
        if self._client is not None:
            self._client.poll(0)  # errors of a past outage must not explain the next one
        self._symptoms.clear()
        self._has_answered = True
        return answer

    async def _wait_for_refusal(self, asked: asyncio.Future[Any]) -> None:
        """Raise a timeout of the client early, if the cluster has only ever refused it."""
        if self._has_answered or self._timeout_s <= _REFUSED_S:
            return
        await asyncio.wait({asked}, timeout=_REFUSED_S)
        if asked.done():
            return
        await self._hear()
        found = self._symptoms.found
        if found is not None and found.kind == "refused":
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001 - librdkafka's own name

    async def _hear(self) -> None:
        """Process the clients' callbacks.

        The client is held here, and not where an error is raised: its traceback would keep it, with all its
        threads, until the garbage is collected, and then end it on the event loop.
        """
        client = self._client
        if client is not None:
            await asyncio.to_thread(client.poll, 0)


def is_unknown_topic(error: MirrorwatchError) -> bool:
    """Return whether an error says that a topic does not exist."""
    return _code(error) == KafkaError.UNKNOWN_TOPIC_OR_PART


def _origin(source: Any) -> Origin:
    """Return what a setting comes from; the client passes the number of a source."""
    return _ORIGINS.get(ConfigSource(source), Origin.DEFAULT)


def _acl(binding: Any) -> TopicAcl:
    """Return an ACL with the operation as kafka-acls writes it."""
    operation = "".join(word.capitalize() for word in binding.operation.name.split("_"))
    return TopicAcl(
        name=binding.name,
        prefixed=binding.resource_pattern_type == ResourcePatternType.PREFIXED,
        principal=binding.principal,
        host=binding.host,
        operation=operation,
        allows=binding.permission_type == AclPermissionType.ALLOW,
    )


def _code(error: MirrorwatchError) -> int | None:
    cause = error.__cause__
    return int(cause.args[0].code()) if isinstance(cause, KafkaException) else None
