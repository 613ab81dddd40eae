"""Client properties of each cluster, from a mirror's connectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.connect.flows import has_variable
from fleet.connect.kinds import hosts_in
from fleet.errors import Problem
from fleet.mm2.filters import split_list
from fleet.mm2.names import client_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fleet.connect.kinds import Connector, Worker, Written

_ROLES = ("cluster", "admin", "consumer", "producer")
_BOOTSTRAP = "bootstrap.servers"
# A file with one of these uses another listener or user, so the mirror's own secrets are not needed.
_ANOTHER_WAY = "security.protocol"
_LOGIN = ("sasl.jaas.config", "sasl.password")
_TRUST = (
    "ssl.truststore.location", "ssl.truststore.certificates", "ssl.ca.location", "ssl.ca.pem",
)  # fmt: skip
_OWN_KEY = (
    "ssl.keystore.location", "ssl.keystore.key", "ssl.keystore.certificate.chain", "ssl.key.location",
    "ssl.key.pem", "ssl.certificate.location", "ssl.certificate.pem",
)  # fmt: skip
# Keys that are not needed if one of these is given instead; a store's own password goes with its store.
_INSTEAD_OF = (
    dict.fromkeys(_LOGIN, _LOGIN)
    | dict.fromkeys((*_TRUST, "ssl.truststore.password"), _TRUST)
    | dict.fromkeys((*_OWN_KEY, "ssl.keystore.password", "ssl.key.password"), _OWN_KEY)
)


def clients_of(
    connectors: Sequence[Connector],
    worker: Worker,
    *,
    file: str,
    own_clients: Mapping[str, Mapping[str, str]],
    where: str,
) -> tuple[dict[str, dict[str, str]], list[Problem], list[Problem]]:
    """Return the client properties of each cluster by its alias, what is wrong with them, and warnings.

    The first connector that names a cluster gives its properties. `own_clients` are properties of
    Mirrorwatch's own configuration; they replace values that are missing or that only the worker can
    resolve. `where` describes the place of that configuration.
    """
    found: dict[str, dict[str, str]] = {}
    keys: dict[str, dict[str, str]] = {}
    problems: list[Problem] = []
    warnings: list[Problem] = []
    for connector in connectors:
        for side, alias in (("source", connector.source), ("target", connector.target)):
            client, written = _client(connector, side)
            if alias not in found:
                found[alias], keys[alias] = client, written
            elif _BOOTSTRAP not in own_clients.get(alias, {}) and _hosts(client) - _hosts(found[alias]):
                sentence = (
                    f"differs from {keys[alias][_BOOTSTRAP]}, which is {alias} too; "
                    f"write its address as clusters.{alias}.{_BOOTSTRAP} {where}."
                )
                problems.append(Problem(file, written[_BOOTSTRAP], sentence))
    for alias, client in found.items():
        own = own_clients.get(alias, {})
        missed = _kept_elsewhere(alias, client, keys[alias], own, where)
        secrets = [each for each in worker.secrets.get(alias, ()) if not _covered(own, each.any_of)]
        missed += [(each.key, _missing(alias, each, where)) for each in secrets if not each.instead]
        warnings += [
            Problem(file, each.key, _missing(alias, each, where)) for each in secrets if each.instead
        ]
        if not any(split_list(client.get(_BOOTSTRAP, ""))) and not own.get(_BOOTSTRAP) and not missed:
            sentence = f"is missing; write clusters.{alias}.{_BOOTSTRAP} {where}."
            missed.append((keys[alias][_BOOTSTRAP], sentence))
        if "sasl.jaas.config" in own:  # it names the user as well
            client.pop("sasl.username", None)
        problems += [Problem(file, key, sentence) for key, sentence in missed]
    return found, list(dict.fromkeys(problems)), warnings


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
    alias: str, client: dict[str, str], written: Mapping[str, str], own: Mapping[str, str], where: str
) -> list[tuple[str, str]]:
    """Remove values that only the worker can resolve; return key and sentence of each that is needed."""
    found = []
    for name in [name for name, value in client.items() if has_variable(value)]:
        del client[name]
        if name in own or _covered(own, _INSTEAD_OF.get(name, ())):
            continue
        sentence = (
            "holds a variable that only the Connect worker can resolve; write "
            f"clusters.{alias}.{name} {where}."
        )
        found.append((written[name], sentence))
    return found


def _covered(own: Mapping[str, str], names: tuple[str, ...]) -> bool:
    return _ANOTHER_WAY in own or any(name in own for name in names)


def _missing(alias: str, secret: Written, where: str) -> str:
    names = " or ".join(f"clusters.{alias}.{name}" for name in secret.any_of[:2])
    until_then = f" ({secret.instead})" if secret.instead else ""
    return f"{secret.sentence}; write {names} {where}{until_then}."


def _hosts(client: Mapping[str, str]) -> frozenset[str]:
    return hosts_in(client.get(_BOOTSTRAP, ""))
