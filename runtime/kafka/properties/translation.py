"""Translate the properties of a Kafka cluster, in Java's or librdkafka's spelling, for librdkafka.

Pure but for the two questions about files that the caller may answer otherwise. Everything wrong is told at
once. docs/reference/client-properties.md says what becomes of every key.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from fleet.errors import ConfigurationError
from runtime.kafka.properties import named_files, sasl
from runtime.kafka.properties.client_settings import ClientSettings
from runtime.kafka.properties.draft import Draft, Surroundings
from runtime.kafka.properties.fate import Fate, Key
from runtime.kafka.properties.java_clients import JAVA_KEYS
from runtime.kafka.properties.msk import OWN_KEYS
from runtime.kafka.properties.native_keys import NATIVE_KEYS
from runtime.kafka.properties.redaction import redacted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["known_keys", "redacted", "translate"]

# As in org.apache.kafka.common.utils.Utils: a listener's name, then a host name or an IPv6 address.
_ADDRESS = re.compile(r"(?:[0-9A-Za-z\-%._]*://)?\[?[0-9A-Za-z\-%._:]+\]?")
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
# A client's own metrics are sent to brokers that ask for them (KIP-714). To have them ready takes each client
# some 0.8 MiB, and there are several for each cluster.
_OUR_DEFAULTS = {"enable.metrics.push": "false"}
_UNLIMITED_AS_ZERO = frozenset({"connections.max.idle.ms", "receive.buffer.bytes", "send.buffer.bytes"})


def known_keys() -> frozenset[str]:
    """Return the names of all client properties that `translate` knows, Mirrorwatch's own included."""
    return frozenset(JAVA_KEYS) | frozenset(NATIVE_KEYS) | frozenset(OWN_KEYS)


def translate(
    properties: Mapping[str, str],
    *,
    cluster: str,
    file: str,
    read_bytes: Callable[[str], bytes] = named_files.read_file,
    readable_by_everybody: Callable[[str], bool] = named_files.readable_by_everybody,
    locate: Callable[[str], tuple[str, str]] | None = None,
) -> ClientSettings:
    """Return the librdkafka settings for the client properties of `cluster`.

    An empty value counts as not given, so that a file laid over another can take a key back; the one
    exception is ssl.endpoint.identification.algorithm, where empty means none. Paths are relative to the file
    in which their key stands. `locate` tells the file and the full key of a client property; without it
    these are `file` and `clusters.<cluster>.<key>`. Raises ConfigurationError with every problem.
    """
    where = locate or (lambda key: (file, f"clusters.{cluster}.{key}"))
    draft = Draft(properties, Surroundings(read_bytes, readable_by_everybody, where))
    _rows(draft)
    _bootstrap(draft)
    protocol = _protocol(draft)
    # Where the protocol itself is wrong, SASL is looked at only if somebody asked for it.
    asked = (
        draft.has("sasl.mechanism", "sasl.mechanisms") if protocol is None else protocol.startswith("SASL_")
    )
    sasl.translate(draft, used=asked, protocol=protocol)
    if protocol is None or protocol.endswith("SSL"):
        from runtime.kafka.properties import tls  # noqa: PLC0415 - it loads what reads certificates, some 10 MiB

        tls.translate(draft)
    else:
        _without_tls(draft)
    if draft.problems:
        raise ConfigurationError(draft.problems)
    return ClientSettings(
        librdkafka=_OUR_DEFAULTS | draft.settings,
        notes=tuple(draft.notes),
        certificate_expires_at=draft.certificate_expires_at,
    )


def _rows(draft: Draft) -> None:
    """Do what the tables alone decide: plain values, ignored, refused and unknown keys."""
    for name in draft.properties:
        key = JAVA_KEYS.get(name) or NATIVE_KEYS.get(name) or OWN_KEYS.get(name)
        if key is None:
            near = difflib.get_close_matches(name, sorted(known_keys()), n=1, cutoff=0.6)
            hint = f"did you mean '{near[0]}'?" if near else "neither the Java clients nor librdkafka has it"
            draft.problem(name, f"unknown client property; {hint}")
        elif not draft.has(name):
            continue
        elif key.fate is Fate.REFUSED:
            draft.problem(name, f"is refused: {key.sentence}")
        elif key.fate is Fate.IGNORED:
            draft.note(name, f"is ignored: {key.sentence}")
        elif key.becomes:
            _copy(draft, key)


def _copy(draft: Draft, key: Key) -> None:
    text = draft.value(key.name)
    assert text is not None
    if key.becomes != key.name and draft.has(key.becomes):
        draft.note(key.name, f"is not used: {key.becomes} overrides it")
        return
    if key.words:
        word = text.lower()
        if word not in key.words:
            draft.problem(key.name, f"must be one of {', '.join(key.words)}, not '{text}'")
            return
        text = word
    if key.lowest is not None and key.highest is not None:
        try:
            value = int(text)
        except ValueError:
            draft.problem(key.name, f"must be a whole number, not '{text}'")
            return
        if value == -1 and key.name in _UNLIMITED_AS_ZERO:
            value = 0
        if not key.lowest <= value <= key.highest:
            draft.problem(key.name, f"must be {key.lowest} to {key.highest}, not {value}")
            return
        text = str(value)
    draft.settings[key.becomes] = text


def _bootstrap(draft: Draft) -> None:
    key = "metadata.broker.list" if draft.has("metadata.broker.list") else "bootstrap.servers"
    servers = [part.strip() for part in (draft.value(key) or "").split(",") if part.strip()]
    if not servers:
        draft.problem(key, "missing; name at least one broker as host:port")
        return
    for server in servers:
        # A listener name before the address is allowed by Java and means nothing to a client.
        address, _, port = server.rpartition(":")
        if not address.rpartition("://")[2] or not port.isdecimal():
            draft.problem(key, f"invalid broker address '{server}'; write host:port, for example a1:9092")
            return
        if _ADDRESS.fullmatch(address) is None:
            draft.problem(key, f"invalid broker address '{server}'; separate addresses by commas")
            return
        if len(port) > 5 or not 0 < int(port) < 65536:
            draft.problem(key, f"invalid port in '{server}'; write one from 1 to 65535")
            return
    draft.settings["bootstrap.servers"] = ",".join(map(_for_librdkafka, servers))


def _for_librdkafka(server: str) -> str:
    """Return the address without its listener's name; librdkafka requires brackets for an IPv6 address."""
    host, _, port = server.rpartition("://")[2].rpartition(":")
    bare = host.strip("[]")
    return f"[{bare}]:{port}" if ":" in bare else f"{bare}:{port}"


def _protocol(draft: Draft) -> str | None:
    """Return the security protocol in upper case, or None where it is wrong."""
    text = (draft.value("security.protocol") or "PLAINTEXT").upper()
    if text not in _PROTOCOLS:
        draft.problem("security.protocol", f"must be one of {', '.join(_PROTOCOLS)}, not '{text}'")
        return None
    draft.settings["security.protocol"] = text.lower()
    return text


def _without_tls(draft: Draft) -> None:
    for key in ("ssl.truststore.location", "ssl.keystore.location", "ssl.ca.location", "ssl.ca.pem"):
        if draft.has(key):
            draft.note(key, "has no effect while security.protocol has no TLS")
