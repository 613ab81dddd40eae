"""Asks the replicas of all shards, with the credentials of the client that asks this one.

Only requests of clients are answered for all shards. A replica that is asked for its part answers for its own
shard alone, so that no request goes round.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from contextvars import ContextVar
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

from fleet.errors import UnavailableError
from fleet.shards import Shard
from mirrorwatch.service.view import MissingShard
from mirrorwatch.web.replicas.peers import NO_REPLICA, part_text, shard_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping

    from mirrorwatch.web.replicas.forwarding import Fetched, Forwarder
    from mirrorwatch.web.replicas.peers import Peers
    from runtime.process.clock import Clock

WITHIN_S = 2.0
_MOST_SAID = 500  # bytes of a reason
_REFUSED = {
    HTTPStatus.UNAUTHORIZED: "give all replicas the same users and tokens",
    HTTPStatus.FORBIDDEN: (
        "give all replicas the same tokens, and client_allowed_sans a name of each replica's certificate"
    ),
}
_Found = TypeVar("_Found")


class Gathering:
    """Asks for parts; `peers` are the replicas of the shards."""

    def __init__(self, peers: Peers, forwarder: Forwarder, *, clock: Clock) -> None:
        self.peers = peers
        self.forwarder = forwarder
        self._clock = clock
        self._credentials: ContextVar[Mapping[str, str] | None] = ContextVar("credentials", default=None)
        self._missing_since: dict[int, float] = {}

    @property
    def mine(self) -> Shard | None:
        """Return the own shard if the present request is to be answered for all shards, else None."""
        return self.peers.shard if self.credentials is not None and self.peers.count > 1 else None

    @property
    def credentials(self) -> Mapping[str, str] | None:
        """Return the headers with the credentials of the present client; None for a part."""
        return self._credentials.get()

    @contextmanager
    def for_client(self, credentials: Mapping[str, str]) -> Iterator[None]:
        """Answer for all shards within; other replicas check the same `credentials`."""
        token = self._credentials.set(credentials)
        try:
            yield
        finally:
            self._credentials.reset(token)

    def others(self) -> list[int]:
        """Return the numbers of the other shards."""
        mine = self.peers.shard
        return [number for number in range(1, self.peers.count + 1) if mine is None or number != mine.number]

    def flows(self) -> list[str]:
        """Return the flows of all shards."""
        return [flow for number in range(1, self.peers.count + 1) for flow in self.peers.flows_of(number)]

    def url(self, number: int) -> str:
        """Return the address of the replica of a shard; raises UnavailableError if there is none."""
        url = self.peers.url(number)
        if not url:
            raise UnavailableError(NO_REPLICA)
        return url

    def part(self, number: int) -> str:
        """Return the shard as requests between replicas name it: `2/3`."""
        return part_text(Shard(number, self.peers.count))

    async def fetch(
        self,
        number: int,
        path: str,
        *,
        within_s: float,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
    ) -> Fetched:
        """Return the answer of a shard's replica, whatever its status; `path` is percent-encoded.

        The client's credentials are sent, or `headers`. Raises UnavailableError with the reason, also if the
        replica refuses those credentials.
        """
        url = self.url(number)
        sent = {**(self.credentials or {}), "Accept-Encoding": "identity"} if headers is None else headers
        found = await self.forwarder.fetch(
            url, path, part=self.part(number), headers=sent, within_s=within_s, method=method
        )
        if found.status in _REFUSED and headers is None:
            raise UnavailableError(
                f"its replica at {url} refuses the request (HTTP status {found.status});"
                f" {_REFUSED[HTTPStatus(found.status)]}"
            )
        return found

    async def document(self, number: int, path: str, *, within_s: float) -> bytes:
        """Return the body of a shard's answer with status 200; raises UnavailableError as `fetch`."""
        found = await self.fetch(number, path, within_s=within_s)
        if found.status == HTTPStatus.OK:
            return found.body
        why = f"answers with HTTP status {found.status}"
        if found.status == HTTPStatus.SERVICE_UNAVAILABLE:
            why = f"is not ready: {found.body[:_MOST_SAID].decode(errors='replace').strip()}"
        raise UnavailableError(f"its replica at {self.peers.url(number)} {why}")

    async def from_each(
        self, ask: Callable[[int], Awaitable[_Found]], numbers: Iterable[int]
    ) -> tuple[dict[int, _Found], list[MissingShard]]:
        """Ask for these shards at once; return the answers by number, and the shards without one."""

        async def one(number: int) -> _Found | UnavailableError:
            try:
                return await ask(number)
            except UnavailableError as error:
                return error

        asked, found, missing = list(numbers), {}, []
        for number, answer in zip(asked, await asyncio.gather(*map(one, asked)), strict=True):
            if isinstance(answer, UnavailableError):
                missing.append(self._missing(number, str(answer)))
            else:
                found[number] = answer
                self._missing_since.pop(number, None)
        return found, missing

    def _missing(self, number: int, reason: str) -> MissingShard:
        since_at = self._missing_since.setdefault(number, self._clock.wall_s())
        flows = tuple(sorted(self.peers.flows_of(number)))
        return MissingShard(shard_text(number, self.peers.count), reason, flows, since_at)
