"""Basic authentication against bcrypt hashes, and bearer tokens."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import math
import secrets
from collections import OrderedDict
from typing import TYPE_CHECKING, Protocol

import bcrypt
from aiohttp import hdrs, web

from runtime.http.bounds import Failures, source_of
from runtime.process.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runtime.process.clock import Clock


class Hidden(Protocol):
    """A secret that has to be asked for its value, as pydantic's SecretStr is."""

    def get_secret_value(self) -> str:
        """Return the secret itself."""
        ...


Token = Hidden | str | None

FAILED_PER_MINUTE = 10  # sign-ins of one address
_BCRYPT_BYTES = 72
_REMEMBERED = 256


def require_token(request: web.Request, token: Token, *, name: str = "operator") -> None:
    """Accept a request with the bearer token `token`; raise 401 or 403 otherwise.

    `name` is the token's key under `http.tokens`. Without a configured token nobody may. Comparison takes
    the same time wherever the texts differ.
    """
    if token is None:
        raise web.HTTPForbidden(text=f"This is forbidden: http.tokens.{name} is not configured.\n")
    given = _bearer(request)
    if given is None or not _same(given, _plain(token)):
        raise web.HTTPUnauthorized(
            text=f"This needs 'Authorization: Bearer TOKEN' with the token of http.tokens.{name}.\n",
            headers={hdrs.WWW_AUTHENTICATE: 'Bearer realm="mirrorwatch"'},
        )


def roles_of(request: web.Request, tokens: Mapping[str, Token]) -> str:
    """Return the names of the configured tokens that the request carries, or an empty text."""
    given = _bearer(request)
    if given is None:
        return ""
    # Each is compared, so that the time does not show which one came close.
    equal = [name for name, token in tokens.items() if token is not None and _same(given, _plain(token))]
    return ",".join(equal)


def _bearer(request: web.Request) -> str | None:
    scheme, _, given = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else None


def _plain(token: Hidden | str) -> str:
    return token if isinstance(token, str) else token.get_secret_value()


def _same(one: str, other: str) -> bool:
    # Digests are of equal length, so that not even the length of a token can be measured.
    digests = [hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest() for text in (one, other)]
    return hmac.compare_digest(*digests)


class Users:
    """Checks names and passwords against bcrypt hashes without blocking the event loop.

    A check costs 50 to 100 ms by design, and Prometheus asks every few seconds: results are remembered
    under a hash keyed with a secret of this process, right ones and wrong ones apart, so that a stream of
    guesses cannot push out what a scrape needs. One check runs at a time, in a thread; the queue behind it is
    bounded, and so are the failures of one address in a minute: what was right before is never refused.
    """

    def __init__(
        self,
        hashes: Mapping[str, bytes],
        *,
        check: Callable[[bytes, bytes], bool] = bcrypt.checkpw,
        queue: int = 64,
        clock: Clock | None = None,
    ) -> None:
        self._hashes = dict(hashes)
        self._check = check
        self._key = secrets.token_bytes(32)
        self._right: OrderedDict[bytes, None] = OrderedDict()
        self._wrong: OrderedDict[bytes, None] = OrderedDict()
        self._turn = asyncio.Lock()
        self._queue = queue
        self._waiting = 0
        self._clock = clock or SystemClock()
        self._failed = Failures(FAILED_PER_MINUTE, per_s=60.0)
        # Unknown names are checked too, against this hash, so that time does not tell which names exist.
        self._nobody = next(iter(self._hashes.values()), b"")

    def named(self, request: web.Request) -> str:
        """Return the configured user that the request names, with whatever password, or an empty text."""
        credentials = _basic(request)
        return credentials[0] if credentials is not None and credentials[0] in self._hashes else ""

    async def accept(self, request: web.Request) -> bool:
        """Return whether the request has a user with the right password.

        Raises 429 after too many failures of its address, and 503 if too many wait.
        """
        credentials = _basic(request)
        if credentials is None:
            return False
        name, password = credentials
        mark = hmac.digest(
            self._key, b"%d:%s%s" % (len(name), name.encode("utf-8", "surrogateescape"), password), "sha256"
        )
        known = self._remembered(mark)
        if known is not None:
            return known
        if self._waiting >= self._queue:
            raise web.HTTPServiceUnavailable(
                text="Too many sign-ins at once; try again in 5 s.\n", headers={hdrs.RETRY_AFTER: "5"}
            )
        self._waiting += 1
        try:
            async with self._turn:
                known = self._remembered(mark)  # the one before may have asked the same
                if known is not None:
                    return known
                right = await self._checked(name, password, source_of(request.remote))
        finally:
            self._waiting -= 1
        memory = self._right if right else self._wrong
        memory[mark] = None
        while len(memory) > _REMEMBERED:
            memory.popitem(last=False)
        return right

    async def _checked(self, name: str, password: bytes, source: str) -> bool:
        now_ns = self._clock.monotonic_ns()
        wait_s = math.ceil(self._failed.wait_s(source, now_ns))
        if wait_s:
            raise web.HTTPTooManyRequests(
                text=f"Too many failed sign-ins from this address; try again in {wait_s} s.\n",
                headers={hdrs.RETRY_AFTER: str(wait_s)},
            )
        hashed = self._hashes.get(name)
        # bcrypt reads 72 bytes; longer passwords were cut when their hash was made.
        fits = await asyncio.to_thread(
            self._check, password[:_BCRYPT_BYTES], hashed if hashed is not None else self._nobody
        )
        if fits and hashed is not None:
            return True
        self._failed.add(source, now_ns)
        return False

    def _remembered(self, mark: bytes) -> bool | None:
        for memory, answer in ((self._right, True), (self._wrong, False)):
            if mark in memory:
                memory.move_to_end(mark)
                return answer
        return None


def _basic(request: web.Request) -> tuple[str, bytes] | None:
    scheme, _, encoded = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        name, colon, password = base64.b64decode(encoded.strip(), validate=True).partition(b":")
    except (binascii.Error, ValueError):
        return None
    if not colon or b"\0" in password:  # bcrypt ends at a NUL
        return None
    return name.decode("utf-8", "surrogateescape"), password
