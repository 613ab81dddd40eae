"""What `check` writes about rights: one table, and with --acls the commands."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from canary.config import CanaryMode
from lagmon.config import CommitsFrom
from lagmon.mirror_orders import COMMITS_TOPIC
from mirrorwatch.check_rights import Right, acl_command, joined, rights, wished_rights
from mirrorwatch.check_rights_lag import EVERY, lag_rights, wished_lag_rights, wished_task_rights

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mirrorwatch.check_sheet import Sheet
    from mirrorwatch.configuration import Configuration


def print_rights(sheet: Sheet, config: Configuration, *, acls: bool, principal: str) -> None:
    """Write which rights `run` needs where, and how they are granted."""
    needed = _in_turn(
        config, (*rights(config.touched, config.canary_flows, config.canary), *lag_rights(config))
    )
    sheet.heading("Rights that run needs")
    if not needed:
        sheet.say("None: nothing is written and nothing is read.")
        return
    rows = [(right.cluster, _resource(right), ", ".join(right.operations), right.purpose) for right in needed]
    sheet.table(
        (" cluster", "topic", "operations", "for"),
        [(f" {row[0]}", *row[1:]) for row in rows],
        whole="topic",
    )
    sheet.say(f"{_granted(config, needed)}{_beating(config)}{_seeing(config)}")
    tasks = _wished_of_tasks(config)
    if tasks:
        topics = sorted({right.name for right in tasks})
        which = topics[0] if len(topics) == 1 else "the configuration topics of the mirrors' workers"
        sheet.say(
            f"Where it may also read {which}, run names a task of a mirror that stands, and tells partitions"
            " that no task carries. It keeps from there which task carries which partitions, and nothing"
            " else; but passwords of the mirror stand there too, so the right is worth a thought."
        )
    if config.lag.on:
        sheet.say(_lag_monitor(config))
    if acls:
        _print_acls(sheet, config, needed, principal)
    else:
        sheet.say("check --acls prints the commands that grant them.")


def _in_turn(config: Configuration, found: Iterable[Right]) -> tuple[Right, ...]:
    """Return rights by cluster, in the configuration's order."""
    order = list(config.clients)
    return tuple(sorted(found, key=lambda right: order.index(right.cluster)))


def _wished_of_tasks(config: Configuration) -> tuple[Right, ...]:
    """Return the rights on workers' configuration topics, each once whoever of us reads there."""
    return joined((*wished_rights(config.canary_flows, config.canary), *wished_task_rights(config)))


def _resource(right: Right) -> str:
    return right.name if right.resource == "topic" else f"{right.resource} {right.name}"


def _no_right(config: Configuration) -> str:
    by_admin = config.lag.commits is CommitsFrom.ADMIN
    return "the cluster" if by_admin else "a consumer group or on the cluster"


def _granted(config: Configuration, needed: Iterable[Right]) -> str:
    """Say what rights bring with them, and which of them are needed for what."""
    operations = {operation for right in needed for operation in right.operations}
    said = f"No right on {_no_right(config)} is needed"
    if "Write" in operations:
        said = f"Read and Write bring Describe with them. {said}"
        said += " (brokers before 3.0 also want IdempotentWrite on the cluster of a source)"
    elif "Read" in operations:
        said = f"Read brings Describe with it. {said}"
    said += "."
    if "Create" in operations:
        said += " Create is needed only until the topics are there."
    if "DescribeConfigs" in operations:
        said += (
            " Without DescribeConfigs all else works, but nothing tells what is wrong with a topic, nor ever"
            " the cause record_rejected."
        )
    return said


def _lag_monitor(config: Configuration) -> str:
    """Say what the lag monitor does with a right more, or less; of mirrors only where there are any."""
    reading = "it finds out whether a log ends in records that nobody can read, which are no lag"
    if not config.topology.flows:
        return (
            f"Where the lag monitor may also read topics, {reading}. Without Describe on a topic, groups are"
            f" not judged there.{_unread(config)}"
        )
    return (
        "Where the lag monitor may also describe the settings of topics, it tells how soon retention"
        f" overtakes a mirror, and copies that get another timestamp; where it may read them, {reading}."
        f" Without Describe on a topic, groups and mirrors are not judged there.{_unread(config)} With"
        " lag: {commits: off} there is no lag monitor, and none of its rights is needed."
    )


def _unread(config: Configuration) -> str:
    if config.lag.commits is not CommitsFrom.TOPIC:
        return ""
    return (
        f" Where {COMMITS_TOPIC} may not be read, the Admin API is asked instead where groups stand: that"
        " needs Describe on them, and does not tell when they committed."
    )


def _seeing(config: Configuration) -> str:
    if config.lag.on:
        return ""
    return (
        " To see every topic, check also wants Describe on all topics; without it, it shows those that it may"
        " see."
    )


def _beating(config: Configuration) -> str:
    beats = any(flow.heartbeats_topic for flow in config.canary_flows)
    if not beats or config.canary.mode is CanaryMode.OFF:
        return ""
    return (
        " Without the heartbeats a mirror that runs and leaves the canary's topic out is taken for one that"
        " stands: mirror_down, where it would be not_mirrored."
    )


def _print_acls(sheet: Sheet, config: Configuration, needed: tuple[Right, ...], principal: str) -> None:
    sheet.heading(f"Commands that grant them to {principal}")
    sheet.verbatim("# admin.properties: the client properties of somebody who may alter ACLs")
    for cluster, granted in groupby(needed, key=lambda right: right.cluster):
        bootstrap = config.clients[cluster].librdkafka["bootstrap.servers"]
        sheet.verbatim(f"# cluster {cluster}")
        for right in granted:
            _print_command(sheet, acl_command(bootstrap, principal, right))
        if not config.lag.on:
            sheet.verbatim("# for the list of topics in check, if wanted:")
            _print_wished(sheet, acl_command(bootstrap, principal, Right(cluster, EVERY, ("Describe",), "")))
        for right in wished_lag_rights(config):
            if right.cluster == cluster:
                sheet.verbatim(f"# to know {right.purpose}, if wanted:")
                _print_wished(sheet, acl_command(bootstrap, principal, right))
        for right in _wished_of_tasks(config):
            if right.cluster == cluster:
                sheet.verbatim(
                    f"# to know what the {right.purpose} carry, if wanted; passwords stand there too:"
                )
                _print_wished(sheet, acl_command(bootstrap, principal, right))


def _print_wished(sheet: Sheet, lines: tuple[str, ...]) -> None:
    for line in lines:
        sheet.verbatim(f"# {line}")


def _print_command(sheet: Sheet, lines: tuple[str, ...]) -> None:
    for line in lines:
        sheet.verbatim(line)
