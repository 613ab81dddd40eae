"""One cluster of a Strimzi resource as client properties, as its operator builds them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fleet.connect.kinds import Written

if TYPE_CHECKING:
    from collections.abc import Mapping

_MECHANISMS = {
    "plain": "PLAIN",
    "scram-sha-256": "SCRAM-SHA-256",
    "scram-sha-512": "SCRAM-SHA-512",
    "oauth": "OAUTHBEARER",
}
_TRUST = ("ssl.truststore.location", "ssl.ca.location", "ssl.truststore.certificates", "ssl.ca.pem")
_OWN_KEY = ("ssl.keystore.location", "ssl.key.location", "ssl.keystore.key", "ssl.key.pem")
_PASSWORD = ("sasl.password", "sasl.jaas.config")
_TOKEN = ("sasl.oauthbearer.client.secret", "sasl.jaas.config", "sasl.oauthbearer.config")


@dataclass(frozen=True, slots=True)
class StrimziCluster:
    """A cluster: its client properties with their paths in the resource, and further needs.

    `config` is the spec's, which also has a worker's properties.
    """

    alias: str
    client: Mapping[str, str] = field(repr=False)
    keys: Mapping[str, str]
    config: Mapping[str, str] = field(repr=False)
    secrets: tuple[Written, ...]

    @property
    def bootstrap(self) -> str:
        """Return the addresses as they are written."""
        return self.client["bootstrap.servers"]


def text_of(value: Any) -> str:
    """Return a scalar as text; empty for a list or a mapping."""
    return value.strip() if isinstance(value, str) else ""


def cluster_of(spec: Mapping[str, Any], place: str) -> StrimziCluster:
    """Return the cluster at this path of the resource."""
    alias = text_of(spec.get("alias"))
    client = {"alias": alias, "bootstrap.servers": text_of(spec.get("bootstrapServers"))}
    keys = {"alias": f"{place}.alias", "bootstrap.servers": f"{place}.bootstrapServers"}
    secrets: list[Written] = []
    tls = spec.get("tls")
    client["security.protocol"], keys["security.protocol"] = (
        "SSL" if tls is not None else "PLAINTEXT",
        f"{place}.tls",
    )
    certificates = tls.get("trustedCertificates") if isinstance(tls, dict) else None
    if certificates:
        where = f"{place}.tls.trustedCertificates"
        sentence = f"names {_names(certificates)}, which this file does not hold"
        secrets.append(Written(where, sentence, _TRUST, instead="the system's CAs are trusted until then"))
    login = spec.get("authentication")
    if isinstance(login, dict):
        secrets += _login(login, f"{place}.authentication", client, keys)
    own = spec.get("config")
    config = {key: text_of(value) for key, value in own.items()} if isinstance(own, dict) else {}
    client |= config
    keys |= {key: f"{place}.config.{key}" for key in config}
    return StrimziCluster(alias, client, keys, config, tuple(secrets))


def _login(
    login: Mapping[str, Any], place: str, client: dict[str, str], keys: dict[str, str]
) -> list[Written]:
    """Add the login to the client properties; return the parts that the resource does not contain."""
    kind = text_of(login.get("type"))
    if kind == "tls":
        where = f"{place}.certificateAndKey"
        return [
            Written(
                where,
                f"names {_names(login.get('certificateAndKey'))}, which this file does not hold",
                _OWN_KEY,
            )
        ]
    if kind == "custom":
        return _custom(login, place, client, keys)
    if kind not in _MECHANISMS:
        sentence = f"is '{kind[:60]}', which is not supported"
        return [Written(f"{place}.type", sentence, ("security.protocol", "sasl.jaas.config"))]
    _over_sasl(client)
    client["sasl.mechanism"], keys["sasl.mechanism"] = _MECHANISMS[kind], f"{place}.type"
    if kind == "oauth":
        return [Written(place, "names secrets, which this file does not hold", _TOKEN)]
    client["sasl.username"], keys["sasl.username"] = text_of(login.get("username")), f"{place}.username"
    where = f"{place}.passwordSecret"
    return [
        Written(
            where, f"names {_names(login.get('passwordSecret'))}, which this file does not hold", _PASSWORD
        )
    ]


def _custom(
    login: Mapping[str, Any], place: str, client: dict[str, str], keys: dict[str, str]
) -> list[Written]:
    if text_of(login.get("sasl")).lower() == "true":
        _over_sasl(client)
    own = login.get("config")
    for key, value in own.items() if isinstance(own, dict) else ():
        client[key], keys[key] = text_of(value), f"{place}.config.{key}"
    return []


def _over_sasl(client: dict[str, str]) -> None:
    client["security.protocol"] = "SASL_SSL" if client["security.protocol"] == "SSL" else "SASL_PLAINTEXT"


def _names(secret: Any) -> str:
    """Return the named Kubernetes secrets as text."""
    listed = secret if isinstance(secret, list) else [secret]
    names = [text_of(each.get("secretName")) for each in listed if isinstance(each, dict)]
    names = list(dict.fromkeys(name for name in names if name))
    if not names:
        return "a secret of Kubernetes"
    return f"the secret{'s' if len(names) > 1 else ''} {', '.join(names[:3])} of Kubernetes"
