"""TLS of requests to other replicas: the own certificate, if they require one of their clients.

All replicas have the same web configuration. The files are read again after they have changed.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from runtime.config.web import TlsConfig

    Files = tuple[Path, Path]  # a certificate and its key


def presented_files(tls: TlsConfig | None, directory: Path) -> Files | None:
    """Return the files of the certificate to present; None if no client must have one."""
    if tls is None or tls.client_auth_type != "RequireAndVerifyClientCert":
        return None
    return directory / tls.cert_file, directory / tls.key_file


class OwnCertificate:
    """Makes the TLS context of a request; `files` returns what to present now."""

    def __init__(self, files: Callable[[], Files | None]) -> None:
        self._files = files
        self._made: tuple[object, ssl.SSLContext] | None = None  # of which files, and the context

    def __call__(self) -> ssl.SSLContext | bool:
        """Return the context; True stands for the usual one.

        While the files cannot be read, the last context stays in use.
        """
        files = self._files()
        if files is None:
            return True
        try:
            state = [(path, path.stat().st_mtime_ns, path.stat().st_ino) for path in files]
            if self._made is None or self._made[0] != state:
                context = ssl.create_default_context()
                context.load_cert_chain(*files, password="")  # without it, OpenSSL asks at the terminal
                self._made = state, context
        except (OSError, ssl.SSLError):
            return True if self._made is None else self._made[1]
        return self._made[1]
