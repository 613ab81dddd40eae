"""Permissions in `check`: a table in the report, and the commands of --acls."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from canary.config import CanaryMode
from lagmon.config import CommitsFrom
from lagmon.mirrors.answers.orders import COMMITS_TOPIC
from mirrorwatch.check.permissions import (
    CLUSTER,
    EVERY,
    Permission,
    acl_command,
    checksum_permissions,
    drift_permissions,
    failover_permissions,
    joined,
    lag_permissions,
    migrate_permissions,
    optional_failover_permissions,
    optional_lag_permissions,
    optional_permissions,
    optional_record_permissions,
    optional_task_permissions,
    permissions,
    trace_permissions,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mirrorwatch.check.sheet import Sheet
    from mirrorwatch.configuration.configuration import Configuration

SERVICE, CHECKSUM, FAILOVER, DRIFT = "service", "checksum", "failover", "drift"
TRACE, MIGRATE = "trace", "migrate"
PARTS = (SERVICE, CHECKSUM, FAILOVER, DRIFT, TRACE, MIGRATE)
PASSWORDS = "the topic also holds passwords of the mirror"


def needed_permissions(config: Configuration, part: str) -> tuple[Permission, ...]:
    """Return the permissions that a part of Mirrorwatch needs, by cluster."""
    commands = {
        CHECKSUM: checksum_permissions,
        FAILOVER: failover_permissions,
        DRIFT: drift_permissions,
        TRACE: trace_permissions,
        MIGRATE: migrate_permissions,
    }
    if part in commands:
        return commands[part](config)
    audit = failover_permissions(config) if config.audits_failover else ()
    of_offsets = joined((*lag_permissions(config), *audit))
    found = (*permissions(config.touched, config.canary_flows, config.canary), *of_offsets)
    order = list(config.clients)
    return tuple(sorted(found, key=lambda permission: order.index(permission.cluster)))


def all_optional_permissions(config: Configuration, part: str) -> tuple[tuple[Permission, str], ...]:
    """Return the permissions that a part can do without, each with a remark, which may be empty."""
    if part in (CHECKSUM, DRIFT):
        return ()
    if part == FAILOVER:
        return tuple((permission, "") for permission in optional_failover_permissions(config))
    if part in (TRACE, MIGRATE):
        return tuple((permission, "") for permission in optional_record_permissions(config))
    found = [(permission, "") for permission in optional_lag_permissions(config)]
    if not config.lag.on:
        found += [
            (Permission(cluster, EVERY, ("Describe",), "the list of topics in check"), "")
            for cluster in config.clients
        ]
    found += [(permission, PASSWORDS) for permission in _wished_of_tasks(config)]
    return tuple(found)


def print_permissions(sheet: Sheet, config: Configuration) -> None:
    """Write the permissions that `run` and `checksum` need, and what is missing without them."""
    needed = needed_permissions(config, SERVICE)
    sheet.heading("Permissions that run needs")
    if not needed:
        sheet.say("None: Mirrorwatch reads and writes nothing.")
    else:
        _print_table(sheet, needed)
        sheet.say(f"{_granted(config, needed)}{_beating(config)}{_seeing(config)}")
        _print_tasks(sheet, config)
        if config.lag.on:
            sheet.say(_lag_monitor(config))
    compared = needed_permissions(config, CHECKSUM)
    if compared:
        sheet.heading("Permissions that checksum needs")
        _print_table(sheet, compared)
        if any(permission.pattern == "prefixed" for permission in compared):
            sheet.say("A name that ends in * means all topics with this prefix.")
    sheet.say("check --acls prints the commands that grant them.")


def commands(
    config: Configuration, *, principal: str, command_config: str, parts: Sequence[str] = PARTS
) -> list[str]:
    """Return a POSIX shell script that grants the permissions; optional ones are comments.

    `{cluster}` in `command_config` means the alias of the cluster.
    """
    lines = [
        f"# Grants {principal} what Mirrorwatch needs for {' and '.join(parts)}.",
        f"# {command_config}: client properties of a principal that may alter ACLs.",
    ]

    def command(permission: Permission, before: str = "") -> list[str]:
        bootstrap = config.clients[permission.cluster].librdkafka["bootstrap.servers"]
        file = command_config.replace("{cluster}", permission.cluster)
        return [before + line for line in acl_command(bootstrap, principal, permission, command_config=file)]

    for part in parts:
        optional = all_optional_permissions(config, part)
        for cluster, granted in groupby(
            needed_permissions(config, part), key=lambda permission: permission.cluster
        ):
            lines += ["", f"# {part}, cluster {cluster}"]
            for permission in granted:
                lines += command(permission)
            for permission, remark in optional:
                if permission.cluster == cluster:
                    lines.append(f"# Optional, for {permission.purpose}{f' ({remark})' if remark else ''}:")
                    lines += command(permission, "# ")
    return lines


def _print_table(sheet: Sheet, needed: Iterable[Permission]) -> None:
    rows = [
        (
            f" {permission.cluster}",
            _resource(permission),
            ", ".join(permission.operations),
            permission.purpose,
        )
        for permission in needed
    ]
    sheet.table((" cluster", "topic", "operations", "for"), rows, whole="topic")


def _print_tasks(sheet: Sheet, config: Configuration) -> None:
    tasks = _wished_of_tasks(config)
    if not tasks:
        return
    topics = sorted({permission.name for permission in tasks})
    which = topics[0] if len(topics) == 1 else "the configuration topics of the mirrors' workers"
    sheet.say(
        f"Optional: Read on {which}. With it, run names hanging tasks and partitions without a task. It"
        " stores only which task has which partitions. Passwords of the mirror are there too, so decide"
        " whether to grant it."
    )


def _wished_of_tasks(config: Configuration) -> tuple[Permission, ...]:
    """Return the permissions on workers' configuration topics, each once."""
    return joined(
        (*optional_permissions(config.canary_flows, config.canary), *optional_task_permissions(config))
    )


def _resource(permission: Permission) -> str:
    if permission.resource == CLUSTER:
        return CLUSTER
    name = f"{permission.name}*" if permission.pattern == "prefixed" else permission.name
    return name if permission.resource == "topic" else f"{permission.resource} {name}"


def _unneeded(config: Configuration) -> str:
    of_groups = config.lag.commits is CommitsFrom.ADMIN or config.audits_failover
    return "the cluster" if of_groups else "a consumer group or on the cluster"


def _granted(config: Configuration, needed: Iterable[Permission]) -> str:
    """Write what permissions imply, and why they are needed."""
    operations = {operation for permission in needed for operation in permission.operations}
    text = f"No permission on {_unneeded(config)} is needed"
    if "Write" in operations:
        text = f"Read and Write imply Describe. {text}"
        text += " (brokers before 3.0 also require IdempotentWrite on the cluster of a source)"
    elif "Read" in operations:
        text = f"Read implies Describe. {text}"
    text += "."
    if "Create" in operations:
        text += " Create is needed only until the topics exist."
    if "DescribeConfigs" in operations:
        text += (
            " Without DescribeConfigs, Mirrorwatch cannot see wrong topic settings and never reports the"
            " cause record_rejected."
        )
    return text


def _lag_monitor(config: Configuration) -> str:
    """Write what the lag monitor does with more permissions, or fewer."""
    reading = "With it, records that no consumer gets, such as transaction markers, do not count as lag."
    if not config.topology.flows:
        return (
            f"Optional: Read on all topics. {reading}"
            f" Without Describe on a topic, its groups are not judged.{_unread(config)}"
        )
    return (
        "Optional: DescribeConfigs on all topics. With it, the lag monitor reports retention headroom and"
        f" changed timestamps. Optional: Read on all topics. {reading} Without Describe on a topic, its"
        f" groups and mirrors are not judged.{_unread(config)} With lag: {{commits: off}} the lag monitor is"
        " off, and its permissions are not needed. Without Describe on groups there is no failover audit;"
        " failover: {audit: false} turns it off."
    )


def _unread(config: Configuration) -> str:
    if config.lag.commits is not CommitsFrom.TOPIC:
        return ""
    return (
        f" If Mirrorwatch may not read {COMMITS_TOPIC}, it polls group offsets with the Admin API. This"
        " requires Describe on the groups, and does not show commit times."
    )


def _seeing(config: Configuration) -> str:
    if config.lag.on:
        return ""
    return (
        " To list every topic, check also requires Describe on all topics; otherwise it shows those it may"
        " see."
    )


def _beating(config: Configuration) -> str:
    beats = any(flow.heartbeats_topic for flow in config.canary_flows)
    if not beats or config.canary.mode is CanaryMode.OFF:
        return ""
    return (
        " Without the heartbeats, a mirror that runs but does not replicate the canary topic is reported as"
        " mirror_down instead of not_mirrored."
    )
