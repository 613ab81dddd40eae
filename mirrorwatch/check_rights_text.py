"""What `check` writes about rights: one table, and with --acls the commands."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from canary.config import CanaryMode
from mirrorwatch.check_rights import Right, acl_command, rights

if TYPE_CHECKING:
    from mirrorwatch.check_sheet import Sheet
    from mirrorwatch.configuration import Configuration


def print_rights(sheet: Sheet, config: Configuration, *, acls: bool, principal: str) -> None:
    """Write which rights `run` needs where, and how they are granted."""
    needed = rights(config.clients, config.canary_flows, config.canary)
    sheet.heading("Rights that run needs")
    if not needed:
        sheet.say("None: nothing is written and nothing is read.")
        return
    rows = [(right.cluster, right.topic, ", ".join(right.operations), right.purpose) for right in needed]
    sheet.table((" cluster", "topic", "operations", "for"), [(f" {row[0]}", *row[1:]) for row in rows])
    created = config.canary.mode is not CanaryMode.PRECREATED
    making = " Create is needed only until the topics are there." if created else ""
    sheet.say(
        "Read and Write bring Describe with them. No right on a consumer group or on the cluster is needed"
        f" (brokers before 3.0 also want IdempotentWrite on the cluster of a source).{making} To see every"
        " topic, check also wants Describe on all topics; without it, it shows those that it may see."
    )
    if acls:
        _print_acls(sheet, config, needed, principal)
    else:
        sheet.say("check --acls prints the commands that grant them.")


def _print_acls(sheet: Sheet, config: Configuration, needed: tuple[Right, ...], principal: str) -> None:
    sheet.heading(f"Commands that grant them to {principal}")
    sheet.verbatim("# admin.properties: the client properties of somebody who may alter ACLs")
    for cluster, granted in groupby(needed, key=lambda right: right.cluster):
        bootstrap = config.clients[cluster].librdkafka["bootstrap.servers"]
        sheet.verbatim(f"# cluster {cluster}")
        for right in granted:
            _print_command(sheet, acl_command(bootstrap, principal, right))
        sheet.verbatim("# for the list of topics in check, if wanted:")
        wished = Right(cluster, "*", ("Describe",), "")
        for line in acl_command(bootstrap, principal, wished):
            sheet.verbatim(f"# {line}")


def _print_command(sheet: Sheet, lines: tuple[str, ...]) -> None:
    for line in lines:
        sheet.verbatim(line)
