"""What `check` writes about permissions: a table in the report, and the commands of --acls."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from canary.config import CanaryMode
from lagmon.config import CommitsFrom
from lagmon.mirrors.answers.orders import COMMITS_TOPIC
from mirrorwatch.check.rights import Right, acl_command, joined, rights, wished_rights
from mirrorwatch.check.rights_checksum import checksum_rights
from mirrorwatch.check.rights_lag import EVERY, lag_rights, wished_lag_rights, wished_task_rights

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mirrorwatch.check.sheet import Sheet
    from mirrorwatch.configuration.configuration import Configuration

SERVICE, CHECKSUM = "service", "checksum"
PARTS = (SERVICE, CHECKSUM)
PASSWORDS = "the topic also holds passwords of the mirror"


def needed_rights(config: Configuration, part: str) -> tuple[Right, ...]:
    """Return what a part of Mirrorwatch needs, by cluster in the configuration's order."""
    if part == CHECKSUM:
        return checksum_rights(config)
    found = (*rights(config.touched, config.canary_flows, config.canary), *lag_rights(config))
    order = list(config.clients)
    return tuple(sorted(found, key=lambda right: order.index(right.cluster)))


def optional_rights(config: Configuration, part: str) -> tuple[tuple[Right, str], ...]:
    """Return what a part works without, each with a remark, which may be empty."""
    if part == CHECKSUM:
        return ()
    found = [(right, "") for right in wished_lag_rights(config)]
    if not config.lag.on:
        found += [
            (Right(cluster, EVERY, ("Describe",), "the list of topics in check"), "")
            for cluster in config.clients
        ]
    found += [(right, PASSWORDS) for right in _wished_of_tasks(config)]
    return tuple(found)


def print_rights(sheet: Sheet, config: Configuration) -> None:
    """Write which permissions `run` and `checksum` need where, and what they do without."""
    needed = needed_rights(config, SERVICE)
    sheet.heading("Permissions that run needs")
    if not needed:
        sheet.say("None: Mirrorwatch reads and writes nothing.")
    else:
        _print_table(sheet, needed)
        sheet.say(f"{_granted(config, needed)}{_beating(config)}{_seeing(config)}")
        _print_tasks(sheet, config)
        if config.lag.on:
            sheet.say(_lag_monitor(config))
    compared = needed_rights(config, CHECKSUM)
    if compared:
        sheet.heading("Permissions that checksum needs")
        _print_table(sheet, compared)
        if any(right.pattern == "prefixed" for right in compared):
            sheet.say("A name that ends in * means all topics with this prefix.")
    sheet.say("check --acls prints the commands that grant them.")


def commands(
    config: Configuration, *, principal: str, command_config: str, parts: Sequence[str] = PARTS
) -> list[str]:
    """Return a script for a POSIX shell that grants what the parts need; what they work without is a comment.

    `{cluster}` in `command_config` stands for the alias of the cluster.
    """
    lines = [
        f"# Grants {principal} what {' and '.join(parts)} of Mirrorwatch need.",
        f"# {command_config}: client properties of a principal that may alter ACLs.",
    ]

    def command(right: Right, before: str = "") -> list[str]:
        bootstrap = config.clients[right.cluster].librdkafka["bootstrap.servers"]
        file = command_config.replace("{cluster}", right.cluster)
        return [before + line for line in acl_command(bootstrap, principal, right, command_config=file)]

    for part in parts:
        optional = optional_rights(config, part)
        for cluster, granted in groupby(needed_rights(config, part), key=lambda right: right.cluster):
            lines += ["", f"# {part}, cluster {cluster}"]
            for right in granted:
                lines += command(right)
            for right, remark in optional:
                if right.cluster == cluster:
                    lines.append(f"# Optional, for {right.purpose}{f' ({remark})' if remark else ''}:")
                    lines += command(right, "# ")
    return lines


def _print_table(sheet: Sheet, needed: Iterable[Right]) -> None:
    rows = [
        (f" {right.cluster}", _resource(right), ", ".join(right.operations), right.purpose)
        for right in needed
    ]
    sheet.table((" cluster", "topic", "operations", "for"), rows, whole="topic")


def _print_tasks(sheet: Sheet, config: Configuration) -> None:
    tasks = _wished_of_tasks(config)
    if not tasks:
        return
    topics = sorted({right.name for right in tasks})
    which = topics[0] if len(topics) == 1 else "the configuration topics of the mirrors' workers"
    sheet.say(
        f"Optional: Read on {which}. With it, run names hanging tasks and partitions without a task. From"
        " these topics it stores only which task has which partitions. They also hold passwords of the"
        " mirror, so decide whether to grant it."
    )


def _wished_of_tasks(config: Configuration) -> tuple[Right, ...]:
    """Return the rights on workers' configuration topics, each once whichever part reads there."""
    return joined((*wished_rights(config.canary_flows, config.canary), *wished_task_rights(config)))


def _resource(right: Right) -> str:
    name = f"{right.name}*" if right.pattern == "prefixed" else right.name
    return name if right.resource == "topic" else f"{right.resource} {name}"


def _no_right(config: Configuration) -> str:
    by_admin = config.lag.commits is CommitsFrom.ADMIN
    return "the cluster" if by_admin else "a consumer group or on the cluster"


def _granted(config: Configuration, needed: Iterable[Right]) -> str:
    """Say what permissions imply, and which of them are needed for what."""
    operations = {operation for right in needed for operation in right.operations}
    said = f"No permission on {_no_right(config)} is needed"
    if "Write" in operations:
        said = f"Read and Write imply Describe. {said}"
        said += " (brokers before 3.0 also require IdempotentWrite on the cluster of a source)"
    elif "Read" in operations:
        said = f"Read implies Describe. {said}"
    said += "."
    if "Create" in operations:
        said += " Create is needed only until the topics exist."
    if "DescribeConfigs" in operations:
        said += (
            " Without DescribeConfigs, Mirrorwatch cannot see wrong topic settings and never reports the"
            " cause record_rejected."
        )
    return said


def _lag_monitor(config: Configuration) -> str:
    """Say what the lag monitor does with a permission more, or less; of mirrors only where there are any."""
    reading = "unreadable records, such as transaction markers, then do not count as lag"
    if not config.topology.flows:
        return (
            f"Optional: Read on all topics. With it, the lag monitor reads the ends of logs: {reading}."
            f" Without Describe on a topic, its groups are not judged.{_unread(config)}"
        )
    return (
        "Optional: DescribeConfigs on all topics. With it, the lag monitor reports retention headroom and"
        " changed timestamps. Optional: Read on all topics. With it, the lag monitor reads the"
        f" ends of logs: {reading}. Without Describe on a topic, its groups and mirrors are not"
        f" judged.{_unread(config)} With lag: {{commits: off}} the lag monitor is off, and its permissions"
        " are not needed."
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
