"""`mirrorwatch check`: explains a configuration, its clusters, the cost of the canary, the permissions.

Exit status: 2 if a Kafka client does not accept its settings; else 1 if a topic setting breaks the canary, or
with --strict if a flow has no canary; else 3 if something could not be checked; else 4 if a cluster is
unavailable or refused a request; else 0.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from canary.site.control import TOPIC as CONTROL_TOPIC
from mirrorwatch.check.clusters import ANSWER_S, check_clusters, print_clusters
from mirrorwatch.check.configured import print_configured, print_warnings, store_warnings
from mirrorwatch.check.cost_text import canary_costs, missing_topics, print_advice, print_canary
from mirrorwatch.check.document import checked_document, refused_document
from mirrorwatch.check.mirrored_text import print_mirrored
from mirrorwatch.check.no_canary import first_lines, without_canary
from mirrorwatch.check.permissions_text import commands, print_permissions
from mirrorwatch.check.sheet import FIRST, Sheet, rest
from mirrorwatch.check.topics import advice, unchecked
from mirrorwatch.web.texts import counted
from runtime.kafka.admin import ClusterAdmin
from runtime.process.logs import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rich.console import Console

    from canary.site.topic_advice import Advice
    from fleet.errors import Problem
    from mirrorwatch.check.clusters import Asked, ClusterCheck
    from mirrorwatch.check.no_canary import NoCanary
    from mirrorwatch.configuration.configuration import Configuration
    from runtime.kafka.properties.client_settings import ClientSettings

OK, FINDING, BAD_CONFIGURATION, INCOMPLETE, UNAVAILABLE = 0, 1, 2, 3, 4


def _admin(alias: str, settings: ClientSettings) -> Asked:
    return ClusterAdmin(settings, cluster=alias, timeout_s=ANSWER_S)


async def check(
    config: Configuration,
    *,
    console: Console,
    connect: bool,
    strict: bool = False,
    as_json: bool = False,
    principal: str = "User:mirrorwatch",
    ask: Callable[[str, ClientSettings], Asked] = _admin,
) -> int:
    """Explain a configuration on the console, as text or JSON, and return the exit status."""
    # The errors repeat what the Kafka client logs about connections.
    logging.getLogger("rdkafka").addHandler(logging.NullHandler())
    config = replace(config, warnings=(*config.warnings, *store_warnings(config)))
    sheet, redactor = Sheet(console, Redactor(config.secrets)), Redactor(config.secrets)
    bare = without_canary(config)
    if not as_json:
        for line in first_lines(config, bare):
            sheet.verbatim(line)
        print_configured(sheet, config)
        print_warnings(sheet, config)
    results: dict[str, ClusterCheck] = {}
    if connect:
        results = await check_clusters(config.clients, _wanted(config), ask=ask)
    wrong = advice(config, results, canary_costs(config, results))
    found = _misconfigured(config, results) or _conclusion(
        config, results, bare, wrong, connect=connect, strict=strict
    )
    if as_json:
        document = checked_document(
            config, results, status=found.status, sentences=found.sentences, advice=wrong, principal=principal
        )
        print_json(console, document, redactor)
        return found.status
    if connect:
        print_clusters(sheet, results, config.topology)
        print_mirrored(sheet, config.topology, results)
    print_canary(sheet, config, results)
    print_advice(sheet, wrong, unchecked(results))
    print_permissions(sheet, config)
    sheet.heading("Result")
    for sentence in found.sentences:
        sheet.say(sentence)
    return found.status


def print_commands(
    config: Configuration,
    *,
    console: Console,
    errors: Console,
    principal: str,
    command_config: str,
    parts: Sequence[str],
    strict: bool,
) -> int:
    """Write the kafka-acls commands to one console and problems to the other.

    Connects to no cluster: the permissions may not exist yet.
    """
    remarks = Sheet(errors, Redactor(config.secrets))
    for warning in config.worth_reading:
        remarks.verbatim(str(warning))
    sheet = Sheet(console, Redactor(config.secrets))
    for line in commands(config, principal=principal, command_config=command_config, parts=parts):
        sheet.verbatim(line)
    return FINDING if strict and _undeliberate(without_canary(config)) else OK


def print_refusal(console: Console, problems: Sequence[Problem], *, path: str) -> int:
    """Write the JSON of an invalid configuration and return the exit status."""
    print_json(console, refused_document(path, problems, status=BAD_CONFIGURATION), Redactor(()))
    return BAD_CONFIGURATION


def print_json(console: Console, document: Mapping[str, object], redactor: Redactor) -> None:
    """Write a document without secrets, in ASCII, so that any output can show it."""
    console.out(json.dumps(redactor.value(document), indent=2, ensure_ascii=True), highlight=False)


def _wanted(config: Configuration) -> dict[str, list[str]]:
    """Return Mirrorwatch's own topics by cluster; `check` requests them by name, as a list may omit them."""
    wanted = {alias: [CONTROL_TOPIC] for alias in config.touched}
    for flow in config.canary_flows:
        if not flow.off:
            wanted[flow.source].append(flow.source_topic)
            wanted[flow.target].append(flow.target_topic)
    return {alias: list(dict.fromkeys(names)) for alias, names in wanted.items()}


@dataclass(frozen=True, slots=True)
class _Conclusion:
    """The exit status and its reasons."""

    status: int
    sentences: tuple[str, ...]


def _misconfigured(config: Configuration, results: Mapping[str, ClusterCheck]) -> _Conclusion | None:
    """Return the conclusion if a Kafka client does not accept its settings, else None."""
    if not any(result.misconfigured for result in results.values()):
        return None
    sentence = f"FAILED: {_several(_failed(results))} cannot be used as configured; see Connections."
    return _Conclusion(BAD_CONFIGURATION, (*missing_topics(config, results), sentence))


def _failed(results: Mapping[str, ClusterCheck]) -> list[str]:
    return [alias for alias, result in results.items() if result.errors]


def _conclusion(
    config: Configuration,
    results: Mapping[str, ClusterCheck],
    bare: Sequence[NoCanary],
    wrong: Sequence[Advice],
    *,
    connect: bool,
    strict: bool,
) -> _Conclusion:
    missing = missing_topics(config, results)
    failed = _failed(results)
    cut_off = [alias for alias, result in results.items() if result.cut_off]
    unread = [alias for alias, result in results.items() if result.unread]
    breaking = sum(1 for one in wrong if one.breaks)
    undeliberate = _undeliberate(bare)
    sentences = list(missing)
    if failed:
        sentences.append(
            f"FAILED: {_several(failed)} cannot be reached or refused a request; see Connections. The rest"
            " is checked."
        )
    if cut_off:
        sentences.append(f"Incomplete: not all topics of {_several(cut_off)} are checked.")
    if missing:
        sentences.append(f"Incomplete: create {counted(len(missing), 'topic')} before run.")
    if unread:
        sentences.append(f"Incomplete: settings of topics on {_several(unread)} cannot be read.")
    if undeliberate:
        sentences.append(f"{'FAILED: no' if strict else 'No'} canary on {_flows(undeliberate)}.")
    if breaking:
        which = "1 topic setting breaks" if breaking == 1 else f"{breaking} topic settings break"
        sentences.append(f"FAILED: {which} the canary; see Topics to fix.")
    if breaking or (strict and undeliberate):
        return _Conclusion(FINDING, tuple(sentences))
    if missing or cut_off or unread:
        return _Conclusion(INCOMPLETE, tuple(sentences))
    if failed:
        return _Conclusion(UNAVAILABLE, tuple(sentences))
    return _Conclusion(OK, (*sentences, _valid(config, bare, connect=connect, mind=len(wrong))))


def _valid(config: Configuration, bare: Sequence[NoCanary], *, connect: bool, mind: int) -> str:
    """Return the last sentence; it starts with OK only if every flow has a canary."""
    sentence = "The configuration is valid"
    sentence += ", and every cluster answered." if connect else ". No cluster was queried."
    if not bare:
        sentence = f"OK: {sentence[0].lower()}{sentence[1:]}"
    elif bare[0].deliberate:
        sentence += " There is no canary, as configured (canary.mode: off)."
    notes = [counted(len(config.warnings), "warning")] if config.warnings else []
    notes += [counted(mind, "remark") + " about topics"] if mind else []
    return f"{sentence} See {' and '.join(notes)} above." if notes else sentence


def _undeliberate(bare: Sequence[NoCanary]) -> list[str]:
    return [one.flow for one in bare if not one.deliberate]


def _flows(names: Sequence[str]) -> str:
    return ", ".join(names[:FIRST]) + rest(names, joined=True)


def _several(aliases: list[str]) -> str:
    return " and ".join([", ".join(aliases[:-1]), aliases[-1]] if len(aliases) > 1 else aliases)
