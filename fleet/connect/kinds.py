"""One connector and its worker, as properties with the places where they are written."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet.mm2.resolution import CHECKPOINT, HEARTBEAT, SOURCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "CHECKPOINT", "HEARTBEAT", "SOURCE", "Connector", "Task", "Worker", "Written", "hosts_in",
    "some_of", "version_of_worker",
]  # fmt: skip

_PACKAGE = "org.apache.kafka.connect.mirror."
_KINDS = (SOURCE, CHECKPOINT, HEARTBEAT)
# Connect accepts a class by its full name, its simple name, or that without the suffix.
_CLASSES = {
    name: kind for kind in _KINDS for name in (f"{_PACKAGE}{kind}", kind, kind.removesuffix("Connector"))
}
# Strimzi's operator names a connector after the aliases of its clusters.
_NAMED_BY_STRIMZI = re.compile(r"(?P<source>.+)->(?P<target>.+)\.Mirror[A-Za-z]+Connector")
_VERSION = re.compile(r"[234](\.\d{1,5}){1,3}")
DEFAULT_TARGET = "target"  # MirrorConnectorConfig: the alias of a source has no default, that of a target has


@dataclass(frozen=True, slots=True)
class Task:
    """One task and its last reported state, in Connect's terms."""

    number: int
    state: str


@dataclass(frozen=True, slots=True)
class Connector:
    """A connector by its name: its properties, and the key under which each is written in its file.

    A property that is not in `written` has the key `<name>.<property>`. `state` and `tasks` are empty if
    unknown. The properties may hold secrets, so repr() omits them. A connector that is
    not `named` is called by its class in sentences: its name on the worker is unknown.
    """

    name: str
    config: Mapping[str, str] = field(repr=False, hash=False)
    written: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    state: str = ""
    tasks: tuple[Task, ...] = ()
    named: bool = True

    @property
    def kind(self) -> str | None:
        """Return the class, without its package, of a connector of MirrorMaker; None for any other."""
        return _CLASSES.get(self.config.get("connector.class", "").strip())

    @property
    def source(self) -> str:
        """Return the alias of the source cluster, or an empty text if the property is missing."""
        return self._alias("source") if "source.cluster.alias" in self.config else ""

    @property
    def target(self) -> str:
        """Return the alias of the target cluster."""
        return self._alias("target") if "target.cluster.alias" in self.config else DEFAULT_TARGET

    def _alias(self, side: str) -> str:
        """Return the alias of a cluster; it needs one even if topic names are to have none.

        With an empty alias and an empty separator, topics keep their names. Then the connector's name may
        have the alias; otherwise it is the name of the side, as Kafka calls a target without an alias.
        """
        named = _NAMED_BY_STRIMZI.fullmatch(self.name)
        return self.config[f"{side}.cluster.alias"].strip() or (named[side] if named else side)

    @property
    def flow(self) -> str:
        """Return the name of the flow that it serves."""
        return f"{self.source}->{self.target}"

    @property
    def enabled(self) -> bool:
        """Return whether it replicates; on Connect that is the default."""
        return self.config.get("enabled", "true").strip().lower() != "false"

    def address(self, side: str) -> str:
        """Return the bootstrap.servers of its source or target cluster, or an empty text."""
        return self.config.get(f"{side}.cluster.bootstrap.servers", "").strip()

    def key(self, name: str) -> str:
        """Return the key of one of its properties as it is written."""
        return self.written.get(name, f"{self.name}.{name}")


@dataclass(frozen=True, slots=True)
class Written:
    """A client property that a cluster needs and that is stored elsewhere: a secret.

    `key` is as it is written, and `sentence` is a clause about the place of the value. One of the
    client properties `any_of`, written under clusters, replaces it. `instead` is what is used without
    one; if it is empty, the cluster cannot be reached without one.
    """

    key: str
    sentence: str
    any_of: tuple[str, ...]
    instead: str = ""


@dataclass(frozen=True, slots=True)
class Worker:
    """The Connect worker of the connectors; the REST API shows only its version.

    `cluster` is the alias of the cluster with its own topics, empty if that is the target of
    each flow. `secrets` are further needs of its clusters, by alias.
    """

    config: Mapping[str, str] = field(default_factory=dict, repr=False)
    version: str | None = None
    cluster: str = ""
    secrets: Mapping[str, tuple[Written, ...]] = field(default_factory=dict)


def hosts_in(text: str) -> frozenset[str]:
    """Return the addresses in the text of a bootstrap.servers."""
    return frozenset(each.strip() for each in text.split(",") if each.strip())


def version_of_worker(text: str) -> str | None:
    """Return the MirrorMaker version of a worker of this version; None if it is not Kafka's.

    Distributions use other version numbers, with a suffix after a hyphen.
    """
    return text if _VERSION.fullmatch(text) else None


def some_of(names: Sequence[str], most: int = 10) -> str:
    """Return the first names and how many more there are, as in `a, b and 3 more`."""
    listed = ", ".join(name[:200] for name in names[:most])
    return listed if len(names) <= most else f"{listed} and {len(names) - most} more"
