"""The sections of the configuration that belong to no part: mm2, connect, mirror_version, clusters, flows.

The other sections come from the packages that they configure; here they are joined into one model, so that
every problem of a file is found in one pass.
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
from runtime.config.sections import HttpConfig, Section, SiblingError, StoreConfig

BURROW_NAME = "burrow_name"
"""The one key of a cluster that is ours, among those of its Kafka client."""


def spelled(name: str) -> str:
    """Return the name of a flow without the blanks that may stand around its arrow."""
    return "->".join(part.strip() for part in name.split("->"))


def _flow_name(name: Any) -> Any:
    if isinstance(name, str):
        parts = spelled(name).split("->")
        if len(parts) != 2 or not all(parts):
            raise ValueError(f"'{name[:60]}' names no flow: write it as A->B, source first")
        return spelled(name)
    return name


FlowName = Annotated[str, BeforeValidator(_flow_name)]


class ConnectSection(Section):
    """A Kafka Connect worker that runs the mirror; without `connectors` all of MirrorMaker's are taken."""

    url: str
    connectors: list[str] | None = Field(default=None, min_length=1, max_length=10_000)
    username: str | None = Field(default=None, min_length=1)
    password: SecretStr | None = None

    @field_validator("url")
    @classmethod
    def _url(cls, text: str) -> str:
        return rest_address(text)

    @field_validator("username")
    @classmethod
    def _username(cls, text: str | None) -> str | None:
        if text is not None and ":" in text:
            raise ValueError("has a colon in it, which no user of HTTP can have")
        return text

    @field_validator("password")
    @classmethod
    def _password(cls, password: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        # A field that was refused is absent, and then there is nothing to judge yet.
        if password is not None and info.data.get("username", "refused") is None:
            raise SiblingError("username", "is missing, and a password without a user lets nobody in")
        return password


class OffsetsSection(Section):
    """Where the mirror's Connect worker keeps how far it has come, and in which state its tasks are.

    `topic` is its `offset.storage.topic`, `status_topic` its `status.storage.topic` and `config_topic` its
    `config.storage.topic`, on one cluster.
    """

    topic: str
    kafka_cluster: str | None = Field(default=None, min_length=1)
    status_topic: str | None = None
    config_topic: str | None = None

    @field_validator("topic", "status_topic", "config_topic")
    @classmethod
    def _topic(cls, text: str | None) -> str | None:
        if text is None:
            return None
        name = text.strip()
        if not is_topic_name(name):
            raise ValueError(
                f"'{name[:60]}' is no name for a topic: use up to {LONGEST_TOPIC} letters, digits,"
                " '.', '_' and '-'"
            )
        return name


class FlowSection(Section):
    """What is said of one flow; what is left out comes from the mm2 file, or is MirrorMaker's default."""

    topics: str | None = None
    policy: Literal["default", "identity", "legacy"] | None = None
    separator: str | None = Field(default=None, min_length=1, max_length=20)
    delivery: Literal["at_least_once", "exactly_once"] | None = None
    canary: FlowCanaryConfig = FlowCanaryConfig()
    lag_from: Literal["connect-offsets", "group", "equal-offsets", "offset-syncs"] | None = None
    group: str | None = None
    offsets: OffsetsSection | None = Field(default=None)

    @field_validator("group")
    @classmethod
    def _group(cls, text: str | None, info: ValidationInfo) -> str | None:
        # A field that was refused is absent, and then there is nothing to judge yet.
        lag_from = info.data.get("lag_from", "refused")
        if text is not None and lag_from not in ("group", "refused"):
            raise ValueError("has a meaning with lag_from: group only; write that, or leave it out")
        if lag_from == "group" and not any(split_list(text or "")):
            raise ValueError(
                "is missing: name the consumer group of the mirror, or a pattern, such as mm1-.*"
            )
        return text

    @field_validator("offsets")
    @classmethod
    def _offsets(cls, section: OffsetsSection | None, info: ValidationInfo) -> OffsetsSection | None:
        lag_from = info.data.get("lag_from") or "connect-offsets"
        if section is not None and lag_from != "connect-offsets":
            raise ValueError(f"has no meaning with lag_from: {lag_from}; leave one of the two out")
        return section


class RootSection(Section):
    """The whole file."""

    mm2: str | None = Field(default=None, min_length=1)
    connect: ConnectSection | None = Field(default=None)
    mirror_version: str | None = None
    clusters: dict[str, dict[str, str]] = Field(default_factory=dict, max_length=200)  # with BURROW_NAME
    flows: dict[FlowName, FlowSection] = Field(default_factory=dict, max_length=1000)
    canary: CanaryConfig = CanaryConfig()
    http: HttpConfig = HttpConfig()
    store: StoreConfig = Field(default_factory=StoreConfig)
    lag: LagConfig = LagConfig()
    checksum: ChecksumConfig = ChecksumConfig()
    objectives: list[ObjectiveConfig] | None = Field(default=None, min_length=1, max_length=1000)
    links: LinksConfig = LinksConfig()

    @property
    def properties(self) -> dict[str, dict[str, str]]:
        """Return what each cluster's clients are told, by alias."""
        return {
            alias: {key: value for key, value in one.items() if key != BURROW_NAME}
            for alias, one in self.clusters.items()
        }

    @property
    def burrow_names(self) -> dict[str, str]:
        """Return how Burrow's users call clusters, by alias, where that is said."""
        return {alias: one[BURROW_NAME] for alias, one in self.clusters.items() if BURROW_NAME in one}

    @field_validator("mirror_version")
    @classmethod
    def _known_version(cls, version: str | None) -> str | None:
        if version is not None:
            major_version(version)
        return version
