"""What a configuration that was read anew changes of the one that runs. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mirrorwatch.lag.orders import lag_orders
from runtime.config.values import Reload, reload_of

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    """What there is to do; whatever is not named goes on untouched.

    A flow that changed stands in both `ended` and `begun`. `opened`, `closed` and `renewed` are clusters that
    flows touch, or touched; `renewed` ones have other client settings. `anew` tells that every flow begins
    anew, at another pace. `added`, `left` and `asked_anew` say the same of all clusters that are read: with
    those that no flow touches the lag monitor has to do, and nobody else. `lag_anew` tells that it begins
    anew, by other orders.
    """

    ended: tuple[str, ...] = ()
    begun: tuple[CanaryFlow, ...] = ()
    opened: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    renewed: tuple[str, ...] = ()
    anew: bool = False
    added: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    asked_anew: tuple[str, ...] = ()
    followed: tuple[str, ...] = ()  # flows that go on and of which something else tells how far they are
    lag_anew: bool = False
    settings: tuple[str, ...] = ()  # keys that take effect at once and touch no flow

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return each change in a sentence; one that says so where there is none."""
        begun = {flow.name for flow in self.begun}
        told = [f"{name}: removed" for name in self.ended if name not in begun]
        told += [f"{name}: restarted with new settings" for name in self.ended if name in begun]
        told += [f"{flow.name}: added" for flow in self.begun if flow.name not in self.ended]
        told += [f"{name}: the lag monitor restarted with new settings" for name in self.followed]
        told += [f"cluster {alias}: added" for alias in self.added]
        told += [f"cluster {alias}: removed" for alias in self.left]
        lone = [alias for alias in self.closed if alias not in self.left]
        told += [f"cluster {alias}: no longer part of a flow, read only by the lag monitor" for alias in lone]
        told += [f"cluster {alias}: clients re-created" for alias in self.asked_anew]
        told += [f"{key}: changed" for key in self.settings]
        told += ["lag monitor: restarted"] if self.lag_anew else []
        return tuple(told) or ("no changes",)


def what_changes(old: Configuration, new: Configuration) -> Changes:
    """Compare what runs with what is to run, whose fixed keys are those of `old`."""
    before = {flow.name: flow for flow in old.canary_flows}
    after = {flow.name: flow for flow in new.canary_flows}
    anew = any(
        getattr(old.canary, key) != getattr(new.canary, key) for key in _keys_of(new.canary, Reload.ALL_FLOWS)
    )
    same = set() if anew else {name for name, flow in after.items() if before.get(name) == flow}
    opened, closed, renewed = _clusters(old.touched, new.touched)
    added, left, asked_anew = _clusters(old.clients, new.clients)
    orders = lag_orders(old), lag_orders(new)
    return Changes(
        ended=tuple(name for name in before if name not in same),
        begun=tuple(flow for name, flow in after.items() if name not in same),
        opened=opened,
        closed=closed,
        renewed=renewed,
        anew=anew,
        added=added,
        left=left,
        asked_anew=asked_anew,
        followed=_followed(*orders, same),
        lag_anew=None not in orders and orders[0] != orders[1],
        settings=_settings(old, new),
    )


def _clusters(
    old: Mapping[str, ClientSettings], new: Mapping[str, ClientSettings]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return which clusters are new, which are gone, and which have other client settings."""
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
        keys += [_TLS] if before.tls_settings != after.tls_settings else []
        keys += [_USERS] if before.users != after.users and not _takes_users(running, asked) else []
    return tuple(f"{key}: takes effect at the next start" for key in keys)


def in_effect(running: Configuration, new: Configuration) -> Configuration:
    """Return the new configuration with what the running one cannot change as it is there.

    The canary's topic and mode have to be those already, since its flows follow from them.
    """
    kept = {"listen": running.http.listen, "web_config_file": running.http.web_config_file}
    web_config = running.web_config
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


def _takes_users(running: Configuration, new: Configuration) -> bool:
    """Tell whether the users of the web configuration can change at once.

    Where none are left, TLS guards alone, and that of the new file does so only from the next start on.
    """
    before, after = running.web_config, new.web_config
    guarded = after.users is not None or before.tls_settings == after.tls_settings
    return guarded and _same_web_file(running, new)


def _followed(before: LagOrders | None, after: LagOrders | None, same: set[str]) -> tuple[str, ...]:
    if before is None or after is None:
        return ()
    return tuple(name for name in after.flows if name in same and not before.same(name, after))


def _settings(old: Configuration, new: Configuration) -> tuple[str, ...]:
    found = _changed(old, new, ("canary", "http"), Reload.AT_ONCE)
    found += _changed(old, new, ("lag",), Reload.LAG)
    kept = old.burrow_names.keys() & new.burrow_names.keys()
    found += [
        f"clusters.{alias}.burrow_name"
        for alias in sorted(kept)
        if old.burrow_names[alias] != new.burrow_names[alias]
    ]
    if old.connect != new.connect:
        found.append("connect")
    if old.web_config.users != new.web_config.users:
        found.append(_USERS)
    return tuple(found)


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
