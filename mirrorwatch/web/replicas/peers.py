"""The replicas that work the shards of a group, as one of them knows them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from fleet.shards import WHOLE, Shard

if TYPE_CHECKING:
    from collections.abc import Sequence


class Holders(Protocol):
    """The replicas that work the shards."""

    @property
    def shard(self) -> Shard | None:
        """Return the shard of this replica; None on standby."""
        ...

    @property
    def count(self) -> int:
        """Return the number of shards."""
        ...

    @property
    def replica(self) -> str:
        """Return the name of this replica."""
        ...

    def url(self, number: int) -> str:
        """Return the address of the replica that works a shard, with no slash at its end; "" without one."""
        ...


class Peers(Holders, Protocol):
    """The replicas that work the shards, and the flows of each shard."""

    def number_of(self, flow: str) -> int | None:
        """Return the number of the shard of a flow, `A->B`; None if the configuration has no such flow."""
        ...

    def flows_of(self, number: int) -> Sequence[str]:
        """Return the flows of a shard."""
        ...


@dataclass(frozen=True, slots=True)
class Alone:
    """A service that works everything itself."""

    replica: str = ""
    shard: Shard | None = WHOLE
    count: int = 1

    def url(self, number: int) -> str:
        """Return that there is no other replica."""
        del number
        return ""

    def number_of(self, flow: str) -> int | None:
        """Return the only shard, whether there is such a flow or not."""
        del flow
        return 1

    def flows_of(self, number: int) -> Sequence[str]:
        """Return none: no shard has to be named by its flows."""
        del number
        return ()


NO_REPLICA = "no replica watches this shard; start one more"


def shard_text(number: int, count: int) -> str:
    """Return `shard 2 of 3`."""
    return f"shard {Shard(number, count)}"


def part_text(shard: Shard) -> str:
    """Return the shard as requests between replicas name it: `2/3`."""
    return f"{shard.number}/{shard.count}"
