"""The HTTP server: one application on one address, in the process' event loop.

Loopback by default; TLS and users by the web configuration. Limits: 1 MiB a body, 100 KiB a request line,
8 KiB a header line, 64 headers, 10 s for a TLS handshake, 75 s until a request's headers are complete (also
between requests), 30 s for a whole request. `bounds` has those of connections, requests and sign-ins.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from typing import TYPE_CHECKING, Any

from aiohttp import web

from fleet.errors import UnavailableError
from runtime.http.audit import audited
from runtime.http.bounds import CONNECTIONS, REQUESTS, BoundedSocket, Shares, few_at_once
from runtime.http.guards import plain_errors, put_headers, sign_in, time_limit
from runtime.http.refusals import Connection, Refusals
from runtime.http.tls import CurrentContext, allowed_clients
from runtime.http.users import Users, require_token
from runtime.process.allowance import Allowance
from runtime.process.clock import SystemClock
from runtime.process.logs import get

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runtime.config.sections import Address, HttpConfig
    from runtime.config.web import WebConfig
    from runtime.http.users import Token
    from runtime.process.clock import Clock
    from runtime.process.logs import Logger

__all__ = ["HttpServer", "application", "require_token"]

MAX_BODY_BYTES = 1024 * 1024
MAX_LINE_BYTES = 100 * 1024  # the name of a group in it may have 32,767 bytes, each written as three
HEADERS_WITHIN_S = 75.0
REQUEST_WITHIN_S = 30.0
HANDSHAKE_WITHIN_S = 10.0
FULL_EVERY_S = 60.0
_ABSENT = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


def application(
    *,
    log: Logger | None = None,
    audit: Logger | None = None,
    clock: Clock | None = None,
    max_body_bytes: int = MAX_BODY_BYTES,
    request_within_s: float = REQUEST_WITHIN_S,
) -> web.Application:
    """Return an application with the guards that need no configuration, ready for routes."""
    app = web.Application(
        client_max_size=max_body_bytes,
        middlewares=[
            plain_errors(log or get("http")),
            audited(audit or get("audit"), clock or SystemClock()),
            time_limit(request_within_s),
            # What is found without the slash at its end is sent there.
            web.normalize_path_middleware(
                append_slash=False,
                remove_slash=True,
                merge_slashes=False,
                redirect_class=web.HTTPPermanentRedirect,
            ),
        ],
    )
    app.on_response_prepare.append(put_headers)
    return app


class HttpServer:
    """Serve an application until told to stop."""

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        problem: Callable[[str, str], None] | None = None,
        settled: Callable[[str], None] = lambda _where: None,
    ) -> None:
        """Create a server; `problem` reports where and what a user must fix, `settled` that it is over."""
        self._clock = clock or SystemClock()
        self._log = get("http")
        self._refusals = Refusals(self._log, self._clock)
        self._problem = problem or (lambda _where, sentence: self._log.warning(sentence))
        self._settled = settled
        self._runner: web.AppRunner | None = None
        self._bound: list[BoundedSocket] = []
        self._listening: list[asyncio.Server] = []
        self._connections = Shares(CONNECTIONS)
        self._full = Allowance(1, per_s=FULL_EVERY_S)
        self._tokens: Mapping[str, Token] = {}
        self._users: Users | None = None
        self._tls: CurrentContext | None = None
        self.port = 0  # that is listened on; 0 while the server is not started
        self.url = ""

    async def bind(self, config: HttpConfig) -> None:
        """Bind the address without listening yet; connections are refused until `start`.

        Raises UnavailableError if the address cannot be bound.
        """
        address = config.address
        try:
            self._bound = await _bound(address)
        except (OSError, UnicodeError) as error:
            raise UnavailableError(_refusal(address, error)) from error

    async def start(self, app: web.Application, config: HttpConfig, *, web_config: WebConfig) -> None:
        """Listen as `config` says, with the TLS and the users of `web_config`, which its reader has loaded.

        Binds the address first if `bind` was not called.

        Raises UnavailableError when the address cannot be listened on.
        """
        assert self._runner is None
        self.use_tokens(config)
        self.use_users(web_config)
        if web_config.tls is not None:
            self._tls = CurrentContext(
                web_config, log=self._log, problem=self._problem, settled=self._settled
            )
        # After plain errors, audit log and time limit, before every handler.
        app.middlewares.insert(3, sign_in(lambda: self._users, lambda: self._tokens))
        app.middlewares.insert(3, allowed_clients(self._allowed_names))
        app.middlewares.insert(3, few_at_once(Shares(REQUESTS)))
        runner = web.AppRunner(app, access_log=None, logger=self._refusals, handle_signals=False)
        if not self._bound:
            await self.bind(config)
        await runner.setup()
        self._runner = runner
        try:
            await self._listen(runner)
        except OSError as error:  # another one that had bound it too has begun to listen
            await self.stop(0)
            raise UnavailableError(_refusal(config.address, error)) from error
        self.url = f"{'https' if self._tls else 'http'}://{config.address._replace(port=self.port)}"

    async def _listen(self, runner: web.AppRunner) -> None:
        loop = asyncio.get_running_loop()
        server = runner.server
        assert server is not None

        def connection() -> Connection:
            return Connection(
                server,
                loop=loop,
                access_log=None,  # type: ignore[arg-type]  # None turns it off, as in AppRunner
                logger=self._refusals,
                keepalive_timeout=HEADERS_WITHIN_S,
                max_line_size=MAX_LINE_BYTES,
                max_headers=64,
                lingering_time=2.0,
            )

        for one in self._bound:
            one.shares, one.refused = self._connections, self._note_full
            listening = await loop.create_server(
                connection,
                sock=one,
                ssl=self._tls,
                ssl_handshake_timeout=HANDSHAKE_WITHIN_S if self._tls else None,
                backlog=128,
            )
            self._listening.append(listening)
        self.port = int(self._bound[0].getsockname()[1])

    def _allowed_names(self) -> tuple[str, ...] | None:
        return None if self._tls is None else self._tls.allowed_names

    def _note_full(self) -> None:
        if not self._full.take(self._clock.monotonic_ns()):
            self._log.warning(
                f"refused a connection: {CONNECTIONS} are open, or half of them from one address"
            )

    def use_tokens(self, config: HttpConfig) -> None:
        """Accept these tokens without a user from now on."""
        self._tokens = {"audit": config.tokens.audit, "operator": config.tokens.operator}

    def use_users(self, web_config: WebConfig) -> None:
        """Require these users from now on, or none if the file has none."""
        users = web_config.users
        self._users = None if users is None else Users(users, clock=self._clock)

    def use_tls(self, web_config: WebConfig) -> None:
        """Use these certificates for new connections from now on; TLS itself stays on, or off."""
        if self._tls is not None:
            self._tls.use(web_config)

    async def stop(self, grace_s: float = 5.0) -> None:
        """Stop listening, let requests under way finish for `grace_s` seconds, then close; idempotent."""
        runner, self._runner = self._runner, None
        self.port = 0
        for one in self._listening:
            one.close()
        self._listening.clear()
        if runner is None:
            self._unbind()
            return
        # aiohttp takes this with the constructor only, when the grace is not known yet. It spends it up to
        # twice: once waiting for handlers, once waiting for them to be cancelled.
        runner._shutdown_timeout = grace_s / 2  # noqa: SLF001 - see above
        await runner.cleanup()
        self._unbind()

    def _unbind(self) -> None:
        for one in self._bound:
            one.close()
        self._bound.clear()


async def _bound(address: Address) -> list[BoundedSocket]:
    """Return a socket for every address of the host that this machine has; raises OSError without any."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(
        address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    sockets: list[BoundedSocket] = []
    errors: list[OSError] = []
    for family, kind, protocol, _, place in dict.fromkeys(found):
        try:
            sockets.append(_bound_to(family, kind, protocol, place))
        except OSError as error:
            errors.append(error)
    # /etc/hosts may have ::1 where IPv6 is off.
    if fatal := [one for one in errors if one.errno not in _ABSENT] or ([] if sockets else errors):
        for one in sockets:
            one.close()
        raise fatal[0]
    return sockets


def _bound_to(family: int, kind: int, protocol: int, place: tuple[Any, ...]) -> BoundedSocket:
    one = BoundedSocket(family, kind, protocol)
    try:
        one.setblocking(False)
        # What was closed a moment ago may be taken again; what is listened on may not.
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.bind(place)
    except OSError:
        one.close()
        raise
    return one


def _refusal(address: Address, error: OSError | UnicodeError) -> str:
    match error:
        case socket.gaierror() | UnicodeError():  # what no host can be called
            return f"http.listen: the host of '{address}' cannot be resolved: use an address of this machine"
        case OSError(errno=errno.EADDRINUSE):
            return f"http.listen: {address} is in use by another program: stop it or choose another port"
        case OSError(errno=errno.EADDRNOTAVAIL):
            return f"http.listen: {address} is not an address of this machine"
        case OSError(errno=errno.EACCES):
            return f"http.listen: this user may not listen on {address}: choose a port above 1023"
        case _:
            reason = (error.strerror or str(error)).lower()
            return f"http.listen: {address} cannot be listened on: {reason}"
