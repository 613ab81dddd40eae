"""The file of `http.web_config_file`: TLS and users, in the form of Prometheus' exporter-toolkit.

One file serves Prometheus' exporters and this service. A setting that is not supported is refused: a
restriction that is silently ignored would be a security hole. The file is read at the start and at each
reload, which applies the users. The certificates that it names are read again when they change. Its paths are
relative to itself.
"""

from __future__ import annotations

import ipaddress
import re
import ssl
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field, ValidationError, ValidationInfo, field_validator

from fleet.errors import ConfigurationError, Problem
from runtime.config import strict_yaml
from runtime.config.problems import problems_of
from runtime.config.values import Flag, Section, SiblingError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_VERIFY = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}
# Each step of a bcrypt cost doubles the time; 16 is already several seconds for every attempt.
_DEAREST_COST = 16


def _user_name(name: str) -> str:
    if not name or ":" in name:
        raise ValueError("invalid user name; it must not be empty or contain a colon")
    return name


def _bcrypt_hash(text: str) -> str:
    # The last letter of the salt, the 22nd, has two bits only: with another one no user could sign in.
    found = re.fullmatch(r"\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{21}[.Oeu][./A-Za-z0-9]{31}", text)
    if found is None:
        raise ValueError("invalid bcrypt hash ($2b$...); create one with 'htpasswd -nBC 10 \"\"'")
    if not 4 <= int(found[1]) <= _DEAREST_COST:
        raise ValueError(f"bcrypt cost must be 4 to {_DEAREST_COST}; use 10 to 12")
    return text


def _allowed_name(name: str) -> str:
    """Return an address in its usual form, and any other name as it is."""
    with suppress(ValueError):
        return str(ipaddress.ip_address(name))
    if not name:
        raise ValueError("must not be empty; write a DNS name, e-mail address, IP address or URI")
    return name


UserName = Annotated[str, AfterValidator(_user_name)]
BcryptHash = Annotated[str, AfterValidator(_bcrypt_hash)]
AllowedName = Annotated[str, AfterValidator(_allowed_name)]


class TlsConfig(Section):
    """The server's certificate, and whether clients must present one."""

    cert_file: str = Field(min_length=1)
    key_file: str = Field(min_length=1)
    client_ca_file: str | None = Field(default=None, min_length=1)
    client_auth_type: str = "NoClientCert"
    client_allowed_sans: tuple[AllowedName, ...] | None = Field(default=None, max_length=1000)
    min_version: str = "TLS12"
    max_version: Literal["TLS12", "TLS13"] = "TLS13"

    @field_validator("client_auth_type")
    @classmethod
    def _client_auth(cls, kind: str, info: ValidationInfo) -> str:
        if kind in {"RequestClientCert", "RequireAnyClientCert"}:
            raise ValueError(
                f"{kind} is not supported, because it verifies no certificate; write"
                " RequireAndVerifyClientCert"
            )
        if kind not in _VERIFY:
            raise ValueError(f"must be one of {', '.join(_VERIFY)}, not '{kind}'")
        has_authority = info.data.get("client_ca_file", "refused") is not None
        if kind != "NoClientCert" and not has_authority:
            raise SiblingError("client_ca_file", f"missing; {kind} requires it to verify client certificates")
        if kind == "NoClientCert" and info.data.get("client_ca_file"):
            raise ValueError(
                "client_ca_file has no effect with NoClientCert; write RequireAndVerifyClientCert, or remove"
                " client_ca_file"
            )
        return kind

    @field_validator("client_allowed_sans")
    @classmethod
    def _allowed(cls, names: tuple[str, ...] | None, info: ValidationInfo) -> tuple[str, ...] | None:
        kind = info.data.get("client_auth_type", "RequireAndVerifyClientCert")
        if names is not None and kind != "RequireAndVerifyClientCert":
            raise ValueError(
                f"has no effect on clients without a certificate, which {kind} accepts; write"
                " client_auth_type: RequireAndVerifyClientCert"
            )
        if names is not None and not names:
            raise ValueError("must not be empty; write names, or remove the key")
        return names

    @field_validator("min_version")
    @classmethod
    def _min_version(cls, version: str) -> str:
        if version in {"TLS10", "TLS11"}:
            raise ValueError(f"{version} is insecure and not supported; write TLS12 or TLS13")
        if version not in _VERSIONS:
            raise ValueError(f"must be TLS12 or TLS13, not '{version}'")
        return version

    @field_validator("max_version")
    @classmethod
    def _ordered(cls, version: str, info: ValidationInfo) -> str:
        if version < info.data.get("min_version", version):
            raise ValueError("must not be lower than min_version")
        return version


class ServerConfig(Section):
    """exporter-toolkit's switch for HTTP/2, which this server does not support."""

    http2: Flag = False


class WebConfigFile(Section):
    """The whole file."""

    tls_server_config: TlsConfig | None = None
    http_server_config: ServerConfig = ServerConfig()
    basic_auth_users: dict[UserName, BcryptHash] = Field(default={}, max_length=1000)


@dataclass(frozen=True, slots=True)
class WebConfig:
    """The part of the file that the HTTP server uses."""

    tls: ssl.SSLContext | None = None  # also None with `tls_settings` if its files were not read
    users: Mapping[str, bytes] | None = None  # bcrypt hashes by name; None requires no user
    tls_settings: TlsConfig | None = None  # what `tls` was made by
    tls_files: TlsFiles | None = None  # creates `tls` again after its files have changed


def load_web_config(path: Path, *, serving: bool = True) -> WebConfig:
    """Return the file at `path`; raises ConfigurationError with all problems.

    Only a process that is `serving` reads certificates and keys: others may lack the permission.
    """
    document = strict_yaml.read(path)
    try:
        parsed = WebConfigFile.model_validate(document.data)
    except ValidationError as error:
        found = problems_of(
            error, file=document.file, prefix="", line_of=document.line_of, model=WebConfigFile
        )
        raise ConfigurationError(found) from None  # pydantic's text would quote the values
    settings = parsed.tls_server_config
    files = None if settings is None else TlsFiles(document, settings, path.parent)
    tls = files.context() if files is not None and serving else None
    users = {name: text.encode("ascii") for name, text in parsed.basic_auth_users.items()}
    if settings is None and not users:
        sentence = "no TLS and no users; add tls_server_config or basic_auth_users"
        raise ConfigurationError([Problem(document.file, "", sentence)])
    return WebConfig(tls, users or None, settings, files)


_FILES = ("cert_file", "key_file", "client_ca_file")


class TlsFiles:
    """Creates the TLS context out of the named files, each time that they are needed."""

    def __init__(self, document: strict_yaml.Document, config: TlsConfig, directory: Path) -> None:
        self._document, self._config, self._directory = document, config, directory
        self.allowed_names = config.client_allowed_sans
        self._read: tuple[tuple[int, ...] | None, ...] = ()

    @property
    def have_changed(self) -> bool:
        """Return whether a file has changed since the last `context`; cheap enough for each connection."""
        return self._signatures() != self._read

    def _signatures(self) -> tuple[tuple[int, ...] | None, ...]:
        return tuple(
            _signature(self._directory / name) for key in _FILES if (name := getattr(self._config, key))
        )

    def context(self) -> ssl.SSLContext:
        """Return a context of what the files hold now; raises ConfigurationError with all problems."""
        config = self._config
        self._read = self._signatures()  # before reading: files that change meanwhile are read once more
        problems = [
            problem
            for key in _FILES
            if (name := getattr(config, key)) is not None and (problem := self._unreadable(key, name))
        ]
        if problems:
            raise ConfigurationError(problems)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = _VERSIONS[config.min_version]
        context.maximum_version = _VERSIONS[config.max_version]
        context.set_alpn_protocols(["http/1.1"])
        try:
            # An encrypted key would make OpenSSL ask at the terminal; with a password it fails instead.
            context.load_cert_chain(
                self._directory / config.cert_file, self._directory / config.key_file, password=""
            )
        except (ssl.SSLError, OSError, ValueError) as error:
            mismatch = isinstance(error, ssl.SSLError) and error.reason == "KEY_VALUES_MISMATCH"
            what = (
                "does not match key_file; name the certificate of that key"
                if mismatch
                else "must be a PEM certificate, and key_file its unencrypted PEM key"
            )
            raise ConfigurationError([self._problem("cert_file", what)]) from error
        context.verify_mode = _VERIFY[config.client_auth_type]
        if config.client_ca_file is not None:
            try:
                context.load_verify_locations(cafile=self._directory / config.client_ca_file)
            except (ssl.SSLError, OSError) as error:
                what = f"{self._directory / config.client_ca_file}: must be CA certificates in PEM"
                raise ConfigurationError([self._problem("client_ca_file", what)]) from error
        return context

    def _unreadable(self, key: str, name: str) -> Problem | None:
        path = self._directory / name
        try:
            with path.open("rb"):
                return None
        except (OSError, ValueError) as error:
            reason = (getattr(error, "strerror", None) or "invalid path").lower()
            return self._problem(
                key, f"{path}: cannot be read ({reason}); check the path and its permissions"
            )

    def _problem(self, key: str, sentence: str) -> Problem:
        line = self._document.line_of(("tls_server_config", key))
        where = f"{self._document.file}:{line}" if line else self._document.file
        return Problem(where, f"tls_server_config.{key}", sentence)


def _signature(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_dev, found.st_ino
