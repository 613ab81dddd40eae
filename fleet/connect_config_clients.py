"""Clusters from connectors: the client properties that a mirror's connectors are given for each alias."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.connect_config_flows import has_variable
from fleet.errors import Problem
from fleet.mm2_names import client_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fleet.connect_config_kinds import Connector, Worker, Written

_ROLES = ("cluster", "admin", "consumer", "producer")
_BOOTSTRAP = "bootstrap.servers"
# Who writes one of these has another listener or another user, and what the mirror needs for its own is moot.
_ANOTHER_WAY = "security.protocol"
_LOGIN = ("sasl.jaas.config", "sasl.password")
_TRUST = (
    "ssl.truststore.location", "ssl.truststore.certificates", "ssl.ca.location", "ssl.ca.pem",
)  # fmt: skip
_OWN_KEY = (
    "ssl.keystore.location", "ssl.keystore.key", "ssl.keystore.certificate.chain", "ssl.key.location",
    "ssl.key.pem", "ssl.certificate.location", "ssl.certificate.pem",
)  # fmt: skip
_STANDS_IN = (_LOGIN, _TRUST, _OWN_KEY)


def clients_of(
    connectors: Sequence[Connector], worker: Worker, *, file: str, ours: Mapping[str, Mapping[str, str]]
) -> tuple[dict[str, dict[str, str]], list[Problem]]:
    """Return the client properties of each cluster by its alias, and what is wrong with them.

    The first connector that speaks of a cluster says how it is reached. `ours` are properties of our own
    configuration, which stand in for what is missing, or is kept where only the worker can look it up.
    """
    found: dict[str, dict[str, str]] = {}
    keys: dict[str, dict[str, str]] = {}
    problems: list[Problem] = []
    for connector in connectors:
        for side, alias in (("source", connector.source), ("target", connector.target)):
            client, written = _client(connector, side)
            if alias not in found:
                found[alias], keys[alias] = client, written
            elif _BOOTSTRAP not in ours.get(alias, {}) and _hosts(client) - _hosts(found[alias]):
                sentence = (
                    f"is not what {keys[alias][_BOOTSTRAP]} says of {alias}; "
                    f"write where it is as clusters.{alias}.{_BOOTSTRAP} in Mirrorwatch's own configuration."
                )
                problems.append(Problem(file, written[_BOOTSTRAP], sentence))
    for alias, client in found.items():
        own = ours.get(alias, {})
        missed = _kept_elsewhere(alias, client, keys[alias], own)
        missed += _secrets(alias, worker.secrets.get(alias, ()), own)
        if not client.get(_BOOTSTRAP, "").strip() and not own.get(_BOOTSTRAP) and not missed:
            sentence = f"is missing; write clusters.{alias}.{_BOOTSTRAP} in Mirrorwatch's own configuration."
            missed.append((keys[alias][_BOOTSTRAP], sentence))
        if "sasl.jaas.config" in own:  # it names the user as well
            client.pop("sasl.username", None)
        problems += [Problem(file, key, sentence) for key, sentence in missed]
    return found, list(dict.fromkeys(problems))


def _client(connector: Connector, side: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the client properties of the connector's source or target, and their keys as written."""
    client: dict[str, str] = {}
    written: dict[str, str] = {_BOOTSTRAP: connector.key(f"{side}.cluster.{_BOOTSTRAP}")}
    for name in sorted({*client_names(None), "sasl.username"}):
        keys = (f"{side}.{role}.{name}" for role in _ROLES)
        key = next((each for each in keys if each in connector.config), None)
        if key is not None:
            client[name] = connector.config[key]
            written[name] = connector.key(key)
    return client, written


def _kept_elsewhere(
    alias: str, client: dict[str, str], written: Mapping[str, str], own: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Take what only the worker can look up out of the client; return key and sentence where it is missed."""
    found = []
    for name in [name for name, value in client.items() if has_variable(value)]:
        del client[name]
        names = next((each for each in _STANDS_IN if name in each), (name,))
        if name in own or _covered(own, names):
            continue
        sentence = (
            "holds a variable that only the Connect worker can look up; write "
            f"clusters.{alias}.{name} in Mirrorwatch's own configuration."
        )
        found.append((written[name], sentence))
    return found


def _secrets(alias: str, secrets: Sequence[Written], own: Mapping[str, str]) -> list[tuple[str, str]]:
    missing = [secret for secret in secrets if not _covered(own, secret.any_of)]
    return [(secret.key, f"{secret.sentence}; {_write(alias, secret)}.") for secret in missing]


def _covered(own: Mapping[str, str], names: tuple[str, ...]) -> bool:
    return _ANOTHER_WAY in own or any(name in own for name in names)


def _write(alias: str, secret: Written) -> str:
    names = " or ".join(f"clusters.{alias}.{name}" for name in secret.any_of[:2])
    return f"write {names} in Mirrorwatch's own configuration"


def _hosts(client: Mapping[str, str]) -> frozenset[str]:
    return frozenset(each.strip() for each in client.get(_BOOTSTRAP, "").split(",") if each.strip())
