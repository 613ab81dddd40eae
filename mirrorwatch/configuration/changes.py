"""Differences between the running configuration and one that was read again. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mirrorwatch.lag.orders import lag_orders
from runtime.config.values import Reload, reload_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from alerts.objectives.objective import Objective
    from canary.flows import CanaryFlow
    from mirrorwatch.configuration.configuration import Configuration
    from mirrorwatch.lag.orders import LagOrders
    from runtime.config.values import Section
    from runtime.kafka.properties.client_settings import ClientSettings

# In the file of http.web_config_file, as long as that is the same one.
_TLS = "tls_server_config"
_USERS = "basic_auth_users"


@dataclass(frozen=True, slots=True)
class Changes:
    """The flows and clusters to stop, start or change; all others continue.

    A changed flow is in both `stopped` and `started`. `opened`, `closed` and `reconnected` are clusters of
    flows; `reconnected` ones have other client settings. With `all_restarted`, every flow restarts at another
    interval. `read_added`, `read_removed` and `read_reconnected` are the same for all clusters that
    Mirrorwatch reads: clusters without a flow concern only the lag monitor. `lag_restarted`: its settings
    changed.
    """

    stopped: tuple[str, ...] = ()
    started: tuple[CanaryFlow, ...] = ()
    opened: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    reconnected: tuple[str, ...] = ()
    all_restarted: bool = False
    read_added: tuple[str, ...] = ()
    read_removed: tuple[str, ...] = ()
    read_reconnected: tuple[str, ...] = ()
    lag_changed: tuple[str, ...] = ()  # flows that continue, with other settings of the lag monitor
    lag_restarted: bool = False
    settings: tuple[str, ...] = ()  # keys that restart no flow

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return a sentence for each change, or one if nothing changed."""
        started = {flow.name for flow in self.started}
        found = [f"{name}: removed" for name in self.stopped if name not in started]
        found += [f"{name}: restarted with new settings" for name in self.stopped if name in started]
        found += [f"{flow.name}: added" for flow in self.started if flow.name not in self.stopped]
        found += [f"{name}: the lag monitor restarted with new settings" for name in self.lag_changed]
        found += [f"cluster {alias}: added" for alias in self.read_added]
        found += [f"cluster {alias}: removed" for alias in self.read_removed]
        lone = [alias for alias in self.closed if alias not in self.read_removed]
        found += [
            f"cluster {alias}: no longer part of a flow, only the lag monitor reads it" for alias in lone
        ]
        found += [f"cluster {alias}: clients re-created" for alias in self.read_reconnected]
        found += [f"{key}: changed" for key in self.settings]
        found += ["lag monitor: restarted"] if self.lag_restarted else []
        return tuple(found) or ("no changes",)


def what_changes(old: Configuration, new: Configuration) -> Changes:
    """Compare the running configuration with the new one, whose fixed keys are those of `old`."""
    before = {flow.name: flow for flow in old.canary_flows}
    after = {flow.name: flow for flow in new.canary_flows}
    all_restarted = any(
        getattr(old.canary, key) != getattr(new.canary, key) for key in _keys_of(new.canary, Reload.ALL_FLOWS)
    )
    same = set() if all_restarted else {name for name, flow in after.items() if before.get(name) == flow}
    opened, closed, reconnected = _clusters(old.touched, new.touched)
    read_added, read_removed, read_reconnected = _clusters(old.clients, new.clients)
    orders = lag_orders(old), lag_orders(new)
    return Changes(
        stopped=tuple(name for name in before if name not in same),
        started=tuple(flow for name, flow in after.items() if name not in same),
        opened=opened,
        closed=closed,
        reconnected=reconnected,
        all_restarted=all_restarted,
        read_added=read_added,
        read_removed=read_removed,
        read_reconnected=read_reconnected,
        lag_changed=_lag_changed(*orders, same),
        lag_restarted=None not in orders and orders[0] != orders[1],
        settings=_settings(old, new),
    )


def _clusters(
    old: Mapping[str, ClientSettings], new: Mapping[str, ClientSettings]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the clusters that are new, removed, and those with other client settings."""
    return (
        tuple(alias for alias in new if alias not in old),
        tuple(alias for alias in old if alias not in new),
        tuple(alias for alias in new if alias in old and new[alias].librdkafka != old[alias].librdkafka),
    )


def at_the_next_start(running: Configuration, asked: Configuration) -> tuple[str, ...]:
    """Return a sentence for each key that differs and that a running service cannot change."""
    keys = _changed(running, asked, ("canary", "http", "store"), Reload.NEXT_START)
    if _same_web_file(running, asked):
        before, after = running.web_config, asked.web_config
        keys += [_TLS] if before.tls_settings != after.tls_settings and not _takes_tls(running, asked) else []
        keys += [_USERS] if before.users != after.users and not _takes_users(running, asked) else []
    return tuple(f"{key}: takes effect at the next start" for key in keys)


def in_effect(running: Configuration, new: Configuration) -> Configuration:
    """Return the new configuration with the running values of keys that cannot change.

    `canary.topic` and `canary.mode` must be the running ones already, because the flows depend on them.
    """
    kept = {"listen": running.http.listen, "web_config_file": running.http.web_config_file}
    web_config = running.web_config
    if _takes_tls(running, new):
        web_config = replace(new.web_config, users=web_config.users)
    if _takes_users(running, new):
        web_config = replace(web_config, users=new.web_config.users)
    return replace(
        new,
        http=new.http.model_copy(update=kept),
        store=running.store,
        web_config=web_config,
    )


def _same_web_file(one: Configuration, other: Configuration) -> bool:
    return one.http.web_config_file == other.http.web_config_file


def _takes_tls(running: Configuration, new: Configuration) -> bool:
    """Return whether the TLS of the web configuration can change at once: it cannot be switched on or off."""
    before, after = running.web_config, new.web_config
    return None not in (before.tls_settings, after.tls_settings) and _same_web_file(running, new)


def _takes_users(running: Configuration, new: Configuration) -> bool:
    """Return whether the users of the web configuration can change at once.

    Without users, only TLS protects the pages, and TLS is switched on at the next start.
    """
    before, after = running.web_config, new.web_config
    same = before.tls_settings == after.tls_settings or _takes_tls(running, new)
    guarded = after.users is not None or same
    return guarded and _same_web_file(running, new)


def _lag_changed(before: LagOrders | None, after: LagOrders | None, same: set[str]) -> tuple[str, ...]:
    if before is None or after is None:
        return ()
    return tuple(name for name in after.flows if name in same and not before.same(name, after))


def _settings(old: Configuration, new: Configuration) -> tuple[str, ...]:
    found = _changed(old, new, ("canary", "failover", "http", "links"), Reload.AT_ONCE)
    found += _changed(old, new, ("checksum",), Reload.NEXT_RUN)
    found += _changed(old, new, ("lag",), Reload.LAG)
    if _kept_objectives(old, new) != _kept_objectives(new, old):
        found.append("objectives")
    kept = old.burrow_names.keys() & new.burrow_names.keys()
    found += [
        f"clusters.{alias}.burrow_name"
        for alias in sorted(kept)
        if old.burrow_names[alias] != new.burrow_names[alias]
    ]
    if old.connect != new.connect:
        found.append("connect")
    if old.web_config.tls_settings != new.web_config.tls_settings:
        found.append(_TLS)
    if old.web_config.users != new.web_config.users:
        found.append(_USERS)
    return tuple(found)


def _kept_objectives(one: Configuration, other: Configuration) -> list[Objective]:
    """Return the objectives of flows that are in both: those of other flows come and go with them."""
    there = {flow.name for flow in other.topology.flows}
    return [objective for objective in one.objectives if objective.flow in there]


def _changed(old: Configuration, new: Configuration, sections: tuple[str, ...], reload: Reload) -> list[str]:
    """Return the keys of these sections that differ and whose change takes effect like this."""
    return [
        f"{name}.{key}"
        for name in sections
        for key in _keys_of(getattr(new, name), reload)
        if getattr(getattr(old, name), key) != getattr(getattr(new, name), key)
    ]


def _keys_of(section: Section, reload: Reload) -> list[str]:
    fields = type(section).model_fields
    return sorted(key for key, field in fields.items() if reload_of(field) is reload)
