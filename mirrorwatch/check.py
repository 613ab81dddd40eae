"""`mirrorwatch check`: what a configuration means, what its clusters hold, what the canary costs and needs.

Exit status: 0 fine; 1 a setting of a topic spoils the canary; 3 less could be checked, or less would be
watched, than asked for; 4 a cluster could not be reached or refused something; 2 where a Kafka client does
not accept its settings. 2 goes before 1, 1 before 3, and 3 before 4.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from canary.control import TOPIC as CONTROL_TOPIC
from mirrorwatch.check_clusters import ANSWER_S, look_all, print_clusters
from mirrorwatch.check_configured import print_configured, print_warnings
from mirrorwatch.check_cost_text import canary_costs, missing_topics, print_advice, print_canary
from mirrorwatch.check_mirrored_text import print_mirrored
from mirrorwatch.check_rights_text import print_rights
from mirrorwatch.check_sheet import Sheet
from mirrorwatch.check_topics import advice, unchecked
from mirrorwatch.words import counted
from runtime.kafka.admin import ClusterAdmin
from runtime.logs import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rich.console import Console

    from mirrorwatch.check_clusters import Asked, ClusterLook
    from mirrorwatch.configuration import Configuration
    from runtime.kafka.client_settings import ClientSettings

FINE, FINDING, BAD_CONFIGURATION, INCOMPLETE, UNAVAILABLE = 0, 1, 2, 3, 4


def _admin(alias: str, settings: ClientSettings) -> Asked:
    return ClusterAdmin(settings, cluster=alias, timeout_s=ANSWER_S)


async def check(
    config: Configuration,
    *,
    console: Console,
    connect: bool,
    acls: bool,
    principal: str,
    ask: Callable[[str, ClientSettings], Asked] = _admin,
) -> int:
    """Explain a configuration on the console and return the exit status."""
    # What the client logs about connections comes again in the sentences of the errors.
    logging.getLogger("rdkafka").addHandler(logging.NullHandler())
    sheet = Sheet(console, Redactor(config.secrets))
    print_configured(sheet, config)
    print_warnings(sheet, config)
    looks: dict[str, ClusterLook] = {}
    if connect:
        looks = await look_all(config.clients, _wanted(config), ask=ask)
        print_clusters(sheet, looks, config.topology)
        print_mirrored(sheet, config.topology, looks)
    print_canary(sheet, config, looks)
    wrong = advice(config, looks, canary_costs(config, looks))
    print_advice(sheet, wrong, unchecked(looks))
    print_rights(sheet, config, acls=acls, principal=principal)
    breaking = sum(1 for one in wrong if one.breaks)
    return _conclude(sheet, config, looks, connect=connect, breaking=breaking, mind=len(wrong))


def _wanted(config: Configuration) -> dict[str, list[str]]:
    """Return the topics of ours that each cluster is asked for by name: also what may not be listed."""
    wanted = {alias: [CONTROL_TOPIC] for alias in config.touched}
    for flow in config.canary_flows:
        if not flow.off:
            wanted[flow.source].append(flow.source_topic)
            wanted[flow.target].append(flow.target_topic)
    return {alias: list(dict.fromkeys(names)) for alias, names in wanted.items()}


def _conclude(
    sheet: Sheet,
    config: Configuration,
    looks: Mapping[str, ClusterLook],
    *,
    connect: bool,
    breaking: int,
    mind: int,
) -> int:
    """Write the last words, and return the exit status that they mean.

    `breaking` of the sentences about topics, of which there are `mind`, are about what spoils the canary.
    """
    missing = missing_topics(config, looks)
    failed = [alias for alias, look in looks.items() if look.errors]
    cut_off = [alias for alias, look in looks.items() if look.cut_off]
    unread = [alias for alias, look in looks.items() if look.unread]
    sheet.heading("Result")
    for sentence in missing:
        sheet.say(sentence)
    if any(look.misconfigured for look in looks.values()):
        sheet.say(f"Not fine: {_several(failed)} cannot be used as configured; the reason stands above.")
        return BAD_CONFIGURATION
    if failed:
        sheet.say(
            f"Not fine: {_several(failed)} could not be reached or refused something; the reason stands"
            " above. What could be said without that is said."
        )
    if cut_off:
        sheet.say(f"Incomplete: not every topic of {_several(cut_off)} was looked at.")
    if missing:
        sheet.say(f"Not fine yet: {counted(len(missing), 'topic')} must be created before run can probe.")
    if unread:
        sheet.say(f"Incomplete: settings of topics on {_several(unread)} could not be checked.")
    if breaking:
        which = "1 setting of a topic spoils" if breaking == 1 else f"{breaking} settings of topics spoil"
        sheet.say(f"Not fine: {which} the canary; what to do stands above.")
        return FINDING
    if missing or cut_off or unread:
        return INCOMPLETE
    if failed:
        return UNAVAILABLE
    sheet.say(_fine(config, connect=connect, mind=mind))
    return FINE


def _fine(config: Configuration, *, connect: bool, mind: int) -> str:
    said = (
        "Fine: the configuration can be used, and every cluster answered."
        if connect
        else ("Fine: the configuration can be used. No cluster was asked.")
    )
    off = sum(1 for flow in config.canary_flows if flow.off)
    if off:
        said += f" {counted(off, 'flow')} will have no canary."
    if config.warnings:
        said += f" Mind {counted(len(config.warnings), 'warning')} above."
    if mind:
        said += f" Mind {counted(mind, 'sentence')} about topics above."
    return said


def _several(aliases: list[str]) -> str:
    return " and ".join([", ".join(aliases[:-1]), aliases[-1]] if len(aliases) > 1 else aliases)
