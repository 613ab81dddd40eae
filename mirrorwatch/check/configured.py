"""The configuration in `check`: files, clusters, flows, warnings."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from fleet.errors import Problem
from fleet.mm2.replication import NEWEST_KNOWN, OLDEST_KNOWN, PolicyKind, major_version
from fleet.quantity import duration_text
from mirrorwatch.configuration.lag_sources import flows_kept_at
from runtime.kafka.properties.msk_tokens import principal_of as msk_principal

if TYPE_CHECKING:
    from fleet.verdicts.flow import Flow
    from mirrorwatch.check.sheet import Sheet
    from mirrorwatch.configuration.configuration import Configuration, LagSource
    from runtime.kafka.properties.client_settings import ClientSettings

_EXAMPLE = "orders"


def print_configured(sheet: Sheet, config: Configuration) -> None:
    """Write files, clusters and flows."""
    sheet.heading("Read")
    mirrors = config.mm2_path
    if mirrors != config.path or not config.connectors:
        sheet.say(str(config.path), hang=4)
    if mirrors is not None and config.connectors:
        sheet.say(f"{mirrors}, connector configuration of Kafka Connect", hang=4)
    elif mirrors is not None and mirrors != config.path:
        sheet.say(f"{mirrors}, configuration of MirrorMaker", hang=4)
    _print_version(sheet, config)
    _print_connectors(sheet, config)
    sheet.heading(f"Clusters ({len(config.clients)})")
    for cluster in config.topology.clusters:
        if cluster.alias in config.clients:
            _print_cluster(sheet, cluster.alias, config.clients[cluster.alias])
            if cluster.alias in config.lone:
                sheet.fact("watched", _watched(config, cluster.alias))
        else:
            wrong = ", and it has a warning (see Warnings)" if config.lag.on else ""
            sheet.say(f"{cluster.alias}: not part of a flow{wrong}, so it is not used", hang=4)
    sheet.heading(f"Flows ({len(config.topology.flows)})")
    if not config.topology.flows:
        sheet.say("None: only consumer groups are watched.")
    for flow in config.topology.flows:
        _print_flow(sheet, flow, config.lag_sources.get(flow.name))


def print_warnings(sheet: Sheet, config: Configuration) -> None:
    """Write each warning in full."""
    if not config.warnings:
        return
    sheet.heading(f"Warnings ({len(config.warnings)})")
    for warning in config.warnings:
        text = str(warning) if warning.file or warning.key else warning.sentence
        sheet.say(text, hang=4)


def store_warnings(config: Configuration) -> tuple[Problem, ...]:
    """Return a warning if the store is a file below /etc, as it is by default next to a configuration there.

    The user of `check` may be another one than the service's, so what it may write proves nothing.
    """
    address = config.store.database_url(config.directory)
    file = Path(address.database or "").absolute()
    if address.get_backend_name() != "sqlite" or not file.is_relative_to("/etc"):
        return ()
    sentence = (
        f"the store would be {file}, and a systemd unit or a container cannot write into /etc; "
        'write "sqlite:////var/lib/mirrorwatch/mirrorwatch.db"'
    )
    return (Problem(str(config.path), "store.url", sentence),)


def _watched(config: Configuration, alias: str) -> str:
    """Write what is read of a cluster that is not part of a flow."""
    kept = flows_kept_at(config.lag_sources, alias)
    if kept:
        return f"consumer groups and the offsets of {', '.join(kept)} (not part of a flow)"
    return "only consumer groups (not part of a flow)"


def _print_version(sheet: Sheet, config: Configuration) -> None:
    if not config.topology.flows:
        return
    versions = sorted({flow.mirror_version or "" for flow in config.topology.flows})
    if versions and versions[0]:
        sheet.say(f"MirrorMaker's version: {', '.join(versions)}")
    else:
        sheet.say(
            "MirrorMaker's version: unknown (set mirror_version). Where 3.x and 4.x differ, both results are"
            " shown."
        )


def _print_connectors(sheet: Sheet, config: Configuration) -> None:
    if not config.connectors:
        return
    sheet.heading(f"Connectors ({len(config.connectors)})")
    for connector in config.connectors:
        sheet.say(connector.name)
        sheet.fact("kind", connector.kind or "")
        sheet.fact("flow", connector.flow)
        if connector.state:
            sheet.fact("state", connector.state)
            tasks = Counter(task.state for task in connector.tasks)
            states = ", ".join(f"{count} {state}" for state, count in sorted(tasks.items()))
            sheet.fact("tasks", states or "none")


def _print_cluster(sheet: Sheet, alias: str, settings: ClientSettings) -> None:
    client = settings.librdkafka
    sheet.say(alias)
    sheet.fact("bootstrap", client["bootstrap.servers"].replace(",", ", "))
    sheet.fact("security", client.get("security.protocol", "plaintext").upper())
    sheet.fact("principal", principal_of(settings))


def principal_of(settings: ClientSettings) -> str:
    """Return the principal of the client, as far as its settings show."""
    client = settings.librdkafka
    by_aws = msk_principal(client)
    if by_aws is not None:
        return by_aws
    protocol = client.get("security.protocol", "plaintext")
    if protocol.startswith("sasl"):
        user = client.get("sasl.username", "")
        if user and client.get("sasl.mechanism", client.get("sasl.mechanisms", "")).upper() != "OAUTHBEARER":
            return f"User:{user}"
        return "the principal of the token"
    if protocol == "ssl" and any(key.startswith(("ssl.certificate", "ssl.keystore")) for key in client):
        return "the subject of the client certificate"
    return "User:ANONYMOUS"


def _print_flow(sheet: Sheet, flow: Flow, source: LagSource | None) -> None:
    topics = flow.topic_filter
    sheet.say(flow.name)
    sheet.fact("policy", _policy(flow))
    sheet.fact("topics", topics.include.strip() or "none: the list is empty")
    for name, exclude in _excludes(flow):
        sheet.fact(name, exclude.strip() or "nothing")
    sheet.fact("new topics", _refresh(flow))
    sheet.fact("tasks", f"{flow.tasks_max} at most")
    sheet.fact("delivery", "exactly once" if flow.exactly_once else "at least once")
    if source is not None and (source.topic or flow.on_connect or source.lag_from != "connect-offsets"):
        sheet.fact("offsets", offsets_of(flow, source))


def offsets_of(flow: Flow, source: LagSource) -> str:
    """Return the source of the mirror's committed offsets: the worker's topics or a replacement."""
    if source.lag_from != "connect-offsets":
        return source.lag_from if source.group is None else f"commits of {source.group}"
    if source.topic is None:
        return "unknown topic (see the warnings)" if flow.on_connect else "unknown topic"
    status = source.worker_topics.get("status_topic") or flow.status_storage_topic
    configs = source.worker_topics.get("config_topic") or flow.config_storage_topic
    of_tasks = ", ".join(topic for topic in (status, configs) if topic)
    return f"{source.topic} on {source.kafka_cluster}" + (f" (tasks: {of_tasks})" if of_tasks else "")


def _policy(flow: Flow) -> str:
    remote = flow.remote_topic(_EXAMPLE)
    kept = (
        "topics keep their names" if remote == _EXAMPLE else f"{_EXAMPLE} becomes {remote} on {flow.target}"
    )
    kind = {PolicyKind.DEFAULT: "default", PolicyKind.IDENTITY: "identity", PolicyKind.LEGACY: "legacy"}
    return f"{kind[flow.policy.kind]}: {kept}"


def _excludes(flow: Flow) -> list[tuple[str, str]]:
    """Return the exclude list, or both lists if the version is unknown."""
    older, newer = (flow.topic_filter.exclude_at(major) for major in (OLDEST_KNOWN, NEWEST_KNOWN))
    if older == newer:
        return [("excluded", newer)]
    if flow.mirror_version is None:
        return [("excluded 3.x", older), ("excluded 4.x", newer)]
    return [("excluded", older if major_version(flow.mirror_version) == OLDEST_KNOWN else newer)]


def _refresh(flow: Flow) -> str:
    if flow.refresh_topics_interval_s is None:
        return "replicated only after a restart of MirrorMaker (refresh.topics.enabled is false)"
    return f"detected every {duration_text(flow.refresh_topics_interval_s)}"
