"""The view of all shards: the own one, with those that the other replicas return."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from fleet.errors import MalformedError, UnavailableError
from mirrorwatch.web.replicas.codec import ViewCodec
from mirrorwatch.web.replicas.gathering import WITHIN_S
from mirrorwatch.web.replicas.merged_view import merged_view

if TYPE_CHECKING:
    from mirrorwatch.service.view import MissingShard, ServiceView
    from mirrorwatch.web.replicas.gathering import Gathering
    from runtime.process.clock import Clock

    _Found = tuple[dict[int, ServiceView], list[MissingShard]]

PATH = "/-/view"
SHARED_S = 0.9  # younger views are used again


class _Fetching(NamedTuple):
    """Views that are being fetched, or were a moment ago."""

    task: asyncio.Task[_Found]
    asked_ns: int


class WholeView:
    """Completes views; clients with the same credentials share what is fetched at one time."""

    def __init__(self, gathering: Gathering, *, clock: Clock) -> None:
        self._gathering = gathering
        self._clock = clock
        self._codec: ViewCodec | None = None
        self._fetching: dict[tuple[tuple[str, str], ...], _Fetching] = {}  # by credentials

    @property
    def codec(self) -> ViewCodec:
        """Return the codec, made at its first use: a service without shards needs none."""
        if self._codec is None:
            self._codec = ViewCodec()
        return self._codec

    async def complete(self, view: ServiceView) -> ServiceView:
        """Return a view with what the other shards have; a part stays as it is."""
        mine = self._gathering.mine
        if mine is None:
            return view
        others, missing = await self._others()
        return merged_view(view, others, missing, number=mine.number, count=mine.count)

    async def close(self) -> None:
        """End what is under way."""
        tasks = [one.task for one in self._fetching.values()]
        for one in tasks:
            one.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _others(self) -> _Found:
        now_ns, key = self._clock.monotonic_ns(), tuple(sorted((self._gathering.credentials or {}).items()))
        self._fetching = {
            credentials: one
            for credentials, one in self._fetching.items()
            if not one.task.done() or now_ns - one.asked_ns < SHARED_S * 1e9
        }
        if key not in self._fetching:
            asking = self._gathering.from_each(self._view_of, self._gathering.others())
            self._fetching[key] = _Fetching(asyncio.create_task(asking), now_ns)
        # A client that leaves must not take the answer away from others.
        return await asyncio.shield(self._fetching[key].task)

    async def _view_of(self, number: int) -> ServiceView:
        body = await self._gathering.document(number, PATH, within_s=WITHIN_S)
        try:
            return await asyncio.to_thread(lambda: self.codec.view(body))
        except MalformedError as error:
            url = self._gathering.peers.url(number)
            raise UnavailableError(
                f"the view of its replica at {url} has an unknown form ({error});"
                " give all replicas the same version"
            ) from error
