"""The sections mm2, connect, mirror_version, clusters and flows, and the model of the whole file.

The other sections come from the packages that they configure. One model finds every problem of a file in one
pass.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SecretStr, ValidationInfo, field_validator

from alerts.config import LinksConfig, ObjectiveConfig
from canary.config import CanaryConfig, FlowCanaryConfig
from checksum.config import ChecksumConfig
from fleet.mm2.filters import split_list
from fleet.mm2.replication import major_version
from fleet.topic_name import LONGEST_TOPIC, is_topic_name
from lagmon.config import LagConfig
from mirrorwatch.configuration.connect_url import rest_address
from mirrorwatch.failover.config import FailoverConfig
from runtime.config.sections import HttpConfig, StoreConfig
from runtime.config.values import Key, Reload, Section, SiblingError, declared

BURROW_NAME = "burrow_name"
"""A key of a cluster for Mirrorwatch, among those of its Kafka client."""

CLUSTER_KEYS = (
    Key(
        "clusters.A.aws_region",
        "by the address, else `AWS_REGION`",
        "",
        "region of the cluster, for IAM of AWS MSK",
        Reload.ITS_FLOWS,
    ),
    Key(
        f"clusters.A.{BURROW_NAME}",
        "the alias",
        "",
        "name of the cluster under `/v3`, Burrow's API",
        Reload.AT_ONCE,
    ),
)
"""Keys of a cluster that are not Kafka's."""


def spelled(name: str) -> str:
    """Return the name of a flow without spaces around its arrow."""
    return "->".join(part.strip() for part in name.split("->"))


def _flow_name(name: Any) -> Any:
    if isinstance(name, str):
        parts = spelled(name).split("->")
        if len(parts) != 2 or not all(parts):
            raise ValueError(f"invalid flow name '{name[:60]}'; write SOURCE->TARGET, for example A->B")
        return spelled(name)
    return name


FlowName = Annotated[str, BeforeValidator(_flow_name)]


class ConnectSection(Section):
    """A Kafka Connect worker that runs the mirror; without `connectors`, all of MirrorMaker's are read."""

    url: str = Field(
        description="its REST address, such as `http://connect:8083`",
        json_schema_extra=declared(Reload.ITS_FLOWS),
    )
    connectors: list[str] | None = Field(
        default=None,
        min_length=1,
        max_length=10_000,
        description="which connectors are read",
        json_schema_extra=declared(Reload.ITS_FLOWS, default="all of MirrorMaker's"),
    )
    username: str | None = Field(
        default=None,
        min_length=1,
        description="user, if the worker requires one",
        json_schema_extra=declared(Reload.ITS_FLOWS),
    )
    password: SecretStr | None = Field(
        default=None,
        description='password of that user, as `"${env:NAME}"`',
        json_schema_extra=declared(Reload.ITS_FLOWS),
    )

    @field_validator("url")
    @classmethod
    def _url(cls, text: str) -> str:
        return rest_address(text)

    @field_validator("username")
    @classmethod
    def _username(cls, text: str | None) -> str | None:
        if text is not None and ":" in text:
            raise ValueError("must not contain a colon")
        return text

    @field_validator("password")
    @classmethod
    def _password(cls, password: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        # A refused field is absent; then this check waits.
        if password is not None and info.data.get("username", "refused") is None:
            raise SiblingError("username", "missing; a password requires a user")
        return password


class OffsetsSection(Section):
    """Topics in which the mirror's Connect worker stores its offsets and the states of its tasks.

    `topic` is its `offset.storage.topic`, `status_topic` its `status.storage.topic` and `config_topic` its
    `config.storage.topic`, on one cluster.
    """

    topic: str = Field(
        description="the worker's `offset.storage.topic`",
        json_schema_extra=declared(Reload.ITS_FLOWS),
    )
    kafka_cluster: str | None = Field(
        default=None,
        min_length=1,
        description="alias of the cluster with that topic",
        json_schema_extra=declared(Reload.ITS_FLOWS, default="the flow's target"),
    )
    status_topic: str | None = Field(
        default=None,
        description=(
            "the worker's `status.storage.topic` on the same cluster: which tasks have failed, and why"
        ),
        json_schema_extra=declared(Reload.ITS_FLOWS),
    )
    config_topic: str | None = Field(
        default=None,
        description=(
            "the worker's `config.storage.topic` on the same cluster: which task is assigned which "
            "partitions; its passwords are not kept"
        ),
        json_schema_extra=declared(Reload.ITS_FLOWS),
    )

    @property
    def worker_topics(self) -> dict[str, str]:
        """Return the configured topics of the worker's tasks, by key."""
        keys = [key for key in type(self).model_fields if key.endswith("_topic")]
        return {key: name for key in keys if (name := getattr(self, key)) is not None}

    @field_validator("topic", "status_topic", "config_topic")
    @classmethod
    def _topic(cls, text: str | None) -> str | None:
        if text is None:
            return None
        name = text.strip()
        if not is_topic_name(name):
            raise ValueError(
                f"invalid topic name '{name[:60]}'; use up to {LONGEST_TOPIC} letters, digits,"
                " '.', '_' and '-'"
            )
        return name


class FlowSection(Section):
    """Settings of one flow; others come from the mm2 file, or are MirrorMaker's defaults."""

    topics: str | None = Field(
        default=None,
        description="topics that the flow replicates: Java regular expressions, separated by commas",
        json_schema_extra=declared(Reload.ITS_FLOWS, default="the mm2 file's, else `.*`"),
    )
    policy: Literal["default", "identity", "legacy"] | None = Field(
        default=None,
        description="how topics are named on the target",
        json_schema_extra=declared(Reload.ITS_FLOWS, default="the mm2 file's, else `default`"),
    )
    separator: str | None = Field(
        default=None,
        min_length=1,
        max_length=20,
        description="text between the source alias and the topic, 1 to 20 characters",
        json_schema_extra=declared(Reload.ITS_FLOWS, default="the mm2 file's, else `.`"),
    )
    delivery: Literal["at_least_once", "exactly_once"] | None = Field(
        default=None,
        description="`exactly_once` makes every duplicate a finding",
        json_schema_extra=declared(Reload.ITS_FLOWS, default="the mm2 file's, else `at_least_once`"),
    )
    canary: FlowCanaryConfig = Field(
        default=FlowCanaryConfig(),
        description="settings of the canary for this flow",
        json_schema_extra=declared(Reload.ITS_FLOWS, default="see below"),
    )
    lag_from: Literal["connect-offsets", "group", "equal-offsets", "offset-syncs"] | None = Field(
        default=None,
        description=(
            "how the lag monitor knows the mirror's progress: `connect-offsets` for MirrorMaker 2, "
            "`group` for a consumer group, `equal-offsets` for a copy with the same offsets, or "
            "`offset-syncs`"
        ),
        json_schema_extra=declared(Reload.ITS_FLOWS, default="`connect-offsets`"),
    )
    group: str | None = Field(
        default=None,
        description=(
            "with `lag_from: group`, the mirror's consumer group on the source: Java regular "
            "expressions for whole names"
        ),
        json_schema_extra=declared(Reload.ITS_FLOWS),
    )
    offsets: OffsetsSection | None = Field(
        default=None,
        description=(
            "where the mirror's Connect worker stores its offsets; with it, the flow is in Connect mode"
        ),
        json_schema_extra=declared(Reload.ITS_FLOWS, default="known from the mirror's configuration"),
    )

    @field_validator("group")
    @classmethod
    def _group(cls, text: str | None, info: ValidationInfo) -> str | None:
        # A refused field is absent; then this check waits.
        lag_from = info.data.get("lag_from", "refused")
        if text is not None and lag_from not in ("group", "refused"):
            raise ValueError("has an effect only with lag_from: group; set it, or remove group")
        if lag_from == "group" and not any(split_list(text or "")):
            raise ValueError("missing; name the mirror's consumer group, or a pattern, such as mm1-.*")
        return text

    @field_validator("offsets")
    @classmethod
    def _offsets(cls, section: OffsetsSection | None, info: ValidationInfo) -> OffsetsSection | None:
        lag_from = info.data.get("lag_from") or "connect-offsets"
        if section is not None and lag_from != "connect-offsets":
            raise ValueError(f"has no effect with lag_from: {lag_from}; remove one of the two")
        return section


class RootSection(Section):
    """The whole file."""

    mm2: str | None = Field(
        default=None,
        min_length=1,
        description="path of the mirror's `mm2.properties`, or of another file that is accepted as it is",
        json_schema_extra=declared(Reload.ITS_FLOWS),
    )
    connect: ConnectSection | None = Field(
        default=None,
        description="the Kafka Connect worker that runs the mirror, instead of `mm2`",
        json_schema_extra=declared(Reload.ITS_FLOWS),
    )
    mirror_version: str | None = Field(
        default=None,
        description="MirrorMaker's version, such as `4.3`",
        json_schema_extra=declared(Reload.ITS_FLOWS, default="not known"),
    )
    clusters: dict[str, dict[str, str]] = Field(
        default_factory=dict,
        max_length=200,
        description=(
            "by alias: Kafka client properties in Java's or librdkafka's spelling; each overrides "
            "that of the mm2 file, and an empty value removes it"
        ),
        json_schema_extra=declared(Reload.ITS_FLOWS, default="those of the mm2 file"),
    )
    flows: dict[FlowName, FlowSection] = Field(
        default_factory=dict,
        max_length=1000,
        description="by name: settings of one flow",
        json_schema_extra=declared(Reload.ITS_FLOWS, default="those of the mm2 file"),
    )
    canary: CanaryConfig = Field(
        default=CanaryConfig(),
        description="the probes",
        json_schema_extra=declared(Reload.AT_ONCE, default="see below"),
    )
    http: HttpConfig = Field(
        default=HttpConfig(),
        description="pages, API and `/metrics`",
        json_schema_extra=declared(Reload.AT_ONCE, default="see below"),
    )
    store: StoreConfig = Field(
        default_factory=StoreConfig,
        description="the database",
        json_schema_extra=declared(Reload.NEXT_START, default="see below"),
    )
    lag: LagConfig = Field(
        default=LagConfig(),
        description="consumer groups and mirrors, judged from their offsets",
        json_schema_extra=declared(Reload.AT_ONCE, default="see below"),
    )
    failover: FailoverConfig = Field(
        default=FailoverConfig(),
        description="where consumer groups would start on the target",
        json_schema_extra=declared(Reload.AT_ONCE, default="see below"),
    )
    checksum: ChecksumConfig = Field(
        default=ChecksumConfig(),
        description="comparison of whole topics",
        json_schema_extra=declared(Reload.NEXT_RUN, default="see below"),
    )
    objectives: list[ObjectiveConfig] | None = Field(
        default=None,
        min_length=1,
        max_length=1000,
        description="list of objectives; with it, only these are used",
        json_schema_extra=declared(Reload.AT_ONCE, default="[defaults](alerts.md#objectives)"),
    )
    links: LinksConfig = Field(
        default=LinksConfig(),
        description="addresses of other tools",
        json_schema_extra=declared(Reload.AT_ONCE, default="see below"),
    )

    @property
    def properties(self) -> dict[str, dict[str, str]]:
        """Return the properties of each cluster's clients, by alias."""
        return {
            alias: {key: value for key, value in one.items() if key != BURROW_NAME}
            for alias, one in self.clusters.items()
        }

    @property
    def burrow_names(self) -> dict[str, str]:
        """Return the configured names for Burrow's API, by alias."""
        return {alias: one[BURROW_NAME] for alias, one in self.clusters.items() if BURROW_NAME in one}

    @field_validator("mirror_version")
    @classmethod
    def _known_version(cls, version: str | None) -> str | None:
        if version is not None:
            major_version(version)
        return version
