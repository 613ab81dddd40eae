"""Sections `http` and `store` of the configuration, and bases for all `config` modules."""

from __future__ import annotations

import ipaddress
import re
import socket
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationInfo, field_validator

from runtime.config.problems import problems_of
from runtime.config.values import (
    Count,
    Duration,
    Flag,
    Number,
    Reload,
    Section,
    SiblingError,
    Size,
    declared,
)
from runtime.store.address import check_address, resolve_address

if TYPE_CHECKING:
    from pathlib import Path

    from runtime.store.address import Address as StoreAddress

__all__ = [
    "Address",
    "Count",
    "Duration",
    "Flag",
    "HttpConfig",
    "KeepConfig",
    "Number",
    "Section",
    "SiblingError",
    "Size",
    "StoreConfig",
    "TokensConfig",
    "problems_of",
]


class Address(NamedTuple):
    """Where a server listens."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Return whether only this host can reach it; any name but localhost may lead outside."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def address_of(text: str) -> Address:
    """Return the address in `HOST:PORT`, `[IPv6]:PORT` or `:PORT` (every interface); ValueError otherwise."""
    found = re.fullmatch(r"(?:\[([0-9A-Fa-f:.%a-z]+)\]|([A-Za-z0-9._-]*)):(\d{1,5})", text)
    if found is None or int(found[3]) > 65535:
        raise ValueError(f"invalid address '{text}'; write HOST:PORT, for example 127.0.0.1:9699")
    return Address(found[1] or found[2] or "0.0.0.0", int(found[3]))  # noqa: S104 - what ':PORT' means


class TokensConfig(Section):
    """Bearer tokens for requests that change something; None forbids them."""

    audit: SecretStr | None = Field(
        default=None,
        description=(
            "bearer token of `POST /api/v1/checksums`, which takes in the results of runs elsewhere"
        ),
        json_schema_extra=declared(Reload.AT_ONCE, default="none: requests are refused"),
    )
    operator: SecretStr | None = Field(
        default=None,
        description=(
            "bearer token of an operator, who may resume a latched canary; `POST /-/reload` "
            "requires it too if it is set"
        ),
        json_schema_extra=declared(Reload.AT_ONCE, default="none: requests are refused"),
    )

    @field_validator("audit", "operator")
    @classmethod
    def _filled(cls, token: SecretStr | None) -> SecretStr | None:
        if token is not None and not re.fullmatch(r"[\x21-\x7e]+", token.get_secret_value()):
            raise ValueError("invalid token; use visible ASCII characters without spaces")
        return token


class HttpConfig(Section):
    """The section `http`. `insecure` must follow the fields that it is checked against."""

    listen: str = Field(
        default="127.0.0.1:9699",
        description=(
            "`HOST:PORT`; if other machines can reach it, `web_config_file` or `insecure: true` is "
            "required; port 0 takes a free one"
        ),
        json_schema_extra=declared(Reload.NEXT_START),
    )
    external_url: str | None = Field(
        default=None,
        description="address at which people open the pages; alerts and the API link to it",
        json_schema_extra=declared(Reload.AT_ONCE),
    )
    replica_url: str | None = Field(
        default=None,
        description="address at which other replicas of `store.group` reach this one",
        json_schema_extra=declared(Reload.NEXT_START, default="the address of `listen`"),
    )
    tokens: TokensConfig = Field(
        default=TokensConfig(),
        description="bearer tokens for requests that change something",
        json_schema_extra=declared(Reload.AT_ONCE, default="see below"),
    )
    web_config_file: str | None = Field(
        default=None,
        min_length=1,
        description=(
            "path of a file with `tls_server_config` and `basic_auth_users`, in the form of "
            "Prometheus' exporters"
        ),
        json_schema_extra=declared(Reload.NEXT_START),
    )
    insecure: Flag = Field(
        default=False,
        description="let other machines reach `listen` without TLS and users",
        json_schema_extra=declared(Reload.AT_ONCE),
    )
    reload: Flag = Field(
        default=False,
        description="let `POST /-/reload` reload this file; SIGHUP always does",
        json_schema_extra=declared(Reload.AT_ONCE),
    )

    @property
    def address(self) -> Address:
        """Return the listen address; port 0 lets the system choose."""
        return address_of(self.listen)

    def url_for_replicas(self, own: str) -> str:
        """Return the address at which other replicas reach this one; `own` is that of the server."""
        if self.replica_url is not None:
            return self.replica_url
        parts = urlsplit(own)
        if parts.hostname not in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not listened on
            return own
        return f"{parts.scheme}://{socket.gethostname()}:{parts.port}"

    def web_config_path(self, directory: Path) -> Path | None:
        """Return the path of the web configuration, relative ones taken from `directory`."""
        return None if self.web_config_file is None else directory / self.web_config_file

    @field_validator("listen")
    @classmethod
    def _listen(cls, text: str) -> str:
        address_of(text)
        return text

    @field_validator("external_url", "replica_url")
    @classmethod
    def _external_url(cls, text: str | None) -> str | None:
        if text is None:
            return None
        try:
            parts = urlsplit(text)
            plain = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.username is None
            plain = plain and not (parts.query or parts.fragment) and (parts.port or 1) > 0
        except ValueError:
            plain = False
        if not plain:
            raise ValueError(
                "invalid address; write for example https://mirrorwatch.example.org, "
                "without user, query or fragment"
            )
        return text.rstrip("/")

    @field_validator("insecure")
    @classmethod
    def _guarded(cls, insecure: bool, info: ValidationInfo) -> bool:
        # A refused field is absent; then this check waits.
        listen, guard = info.data.get("listen"), info.data.get("web_config_file", "refused")
        if listen is not None and guard is None and not insecure and not address_of(listen).is_loopback:
            raise SiblingError(
                "listen",
                f"other machines can reach '{listen}' without TLS and users; set http.web_config_file, "
                "listen on 127.0.0.1, or set http.insecure: true if the network is trusted",
            )
        return insecure


_LONGEST_KEPT_S = 100 * 365 * 86400.0


class KeepConfig(Section):
    """Retention of the store, in seconds."""

    minutes: Duration = Field(
        default=400 * 86400.0,
        gt=0,
        le=_LONGEST_KEPT_S,
        description="for how long the counts of each minute are kept",
        json_schema_extra=declared(Reload.NEXT_START),
    )
    syncs: Duration = Field(
        default=30 * 86400.0,
        gt=0,
        le=_LONGEST_KEPT_S,
        description="for how long MirrorMaker's offset syncs are kept, ever fewer with age",
        json_schema_extra=declared(Reload.NEXT_START),
    )
    findings: Duration = Field(
        default=400 * 86400.0,
        gt=0,
        le=_LONGEST_KEPT_S,
        description=(
            "for how long lost, altered and repeated records, runs of the checksum and their counts are kept"
        ),
        json_schema_extra=declared(Reload.NEXT_START),
    )


class StoreConfig(Section):
    """The section `store`; `replica` names this process among several that share one store."""

    url: SecretStr = Field(
        default=SecretStr("sqlite:///mirrorwatch.db"),
        description="the database: `sqlite:///FILE`, or `postgresql://USER:PASSWORD@HOST/DATABASE`",
        json_schema_extra=declared(Reload.NEXT_START),
    )
    replica: str = Field(
        default_factory=socket.gethostname,
        min_length=1,
        max_length=200,
        description="name of this process among several that share a store",
        json_schema_extra=declared(Reload.NEXT_START, default="the machine's name"),
    )
    group: str | None = Field(
        default=None,
        min_length=1,
        max_length=190,  # the store has GROUP/NUMBER/COUNT in 200 characters
        description="replicas of the same group: one works, the others are standbys",
        json_schema_extra=declared(Reload.NEXT_START, default="none: each replica works by itself"),
    )
    shards: int = Field(
        default=1,
        ge=1,
        le=64,
        description="how many replicas of the group share flows and groups; start one more as a standby",
        json_schema_extra=declared(Reload.NEXT_START),
    )
    keep: KeepConfig = Field(
        default=KeepConfig(),
        description="for how long the store keeps what; older rows are deleted once an hour",
        json_schema_extra=declared(Reload.NEXT_START, default="see below"),
    )

    def database_url(self, directory: Path) -> StoreAddress:
        """Return the database's address; a relative SQLite path is taken from `directory`."""
        return resolve_address(self.url.get_secret_value(), directory)

    @field_validator("shards")
    @classmethod
    def _shards(cls, shards: int, info: ValidationInfo) -> int:
        if shards > 1 and info.data.get("group") is None:
            raise ValueError("has an effect only with store.group; set it, or remove shards")
        return shards

    @field_validator("url")
    @classmethod
    def _url(cls, secret: SecretStr) -> SecretStr:
        check_address(secret.get_secret_value())
        return secret
