"""TLS of the server: each new connection uses the newest valid files, open connections keep theirs.

Prometheus' exporter-toolkit reads its files at each handshake. Here they are read again at the first
handshake after one of them has changed; files that cannot be used change nothing, and are reported.
"""

from __future__ import annotations

import ipaddress
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from aiohttp import web

from fleet.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aiohttp.typedefs import Handler, Middleware

    from runtime.config.web import TlsFiles, WebConfig
    from runtime.process.logs import Logger

WHERE = "tls"  # the place of the problem
_KINDS = frozenset({"DNS", "email", "IP Address", "URI"})  # of names, as the ssl module calls them


class CurrentContext(ssl.SSLContext):
    """The context of a listening socket: passes each connection on to the context of the newest files.

    A context that is in use cannot be changed as a whole: a certificate authority cannot be removed, and a
    certificate without its key stays. So each change of the files makes another one.
    """

    def __new__(cls, *_: object, **__: object) -> Self:
        """Create the context that only passes on."""
        return super().__new__(cls, ssl.PROTOCOL_TLS_SERVER)

    def __init__(
        self,
        web_config: WebConfig,
        *,
        log: Logger,
        problem: Callable[[str, str], None],
        settled: Callable[[str], None],
    ) -> None:
        """Start with the context of `web_config`; `problem` and `settled` report where and what."""
        assert web_config.tls is not None
        assert web_config.tls_files is not None
        self._newest = web_config.tls
        self._files: TlsFiles = web_config.tls_files
        self._log = log
        self._problem = problem
        self._settled = settled

    @property
    def allowed_names(self) -> tuple[str, ...] | None:
        """Return the names of which a client's certificate must have one; None allows any."""
        return self._files.allowed_names

    def use(self, web_config: WebConfig) -> None:
        """Use these settings for new connections, and the present content of their files."""
        if web_config.tls_files is not None and web_config.tls_files is not self._files:
            assert web_config.tls is not None
            self._files, self._newest = web_config.tls_files, web_config.tls
            self._settled(WHERE)
        self.check()

    def check(self) -> None:
        """Read the files again if they have changed."""
        if not self._files.have_changed:
            return
        try:
            self._newest = self._files.context()
        except ConfigurationError as error:
            sentence = f"TLS files not reloaded, the previous ones stay in effect: {error.problems[0]}"
            self._problem(WHERE, sentence)
            return
        self._log.info("TLS files reloaded")
        self._settled(WHERE)

    def wrap_bio(self, *args: Any, **more: Any) -> ssl.SSLObject:
        """Return the TLS state of a new connection."""
        self.check()
        return self._newest.wrap_bio(*args, **more)


def client_names(request: web.Request) -> tuple[str, ...]:
    """Return the alternative names in the client's certificate, which the handshake has verified."""
    certificate: Mapping[str, Any] = request.get_extra_info("peercert") or {}
    return tuple(_usual(name) for kind, name in certificate.get("subjectAltName", ()) if kind in _KINDS)


def _usual(name: str) -> str:
    with suppress(ValueError):
        return str(ipaddress.ip_address(name))
    return name


def allowed_clients(allowed: Callable[[], tuple[str, ...] | None]) -> Middleware:
    """Require one of these names in the client's certificate; None requires none.

    The ssl module cannot refuse a certificate by its names during the handshake, so a request is refused.
    """

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        names = allowed()
        if names is not None and not set(names).intersection(client_names(request)):
            raise web.HTTPForbidden(
                text="This client certificate has none of the names in client_allowed_sans.\n"
            )
        return await handler(request)

    return middleware
