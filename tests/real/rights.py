"""What users may do on a secured broker, as a test grants and withdraws it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from deploy.local.topics import admin_client

if TYPE_CHECKING:
    from deploy.local.broker import Broker

_DEADLINE_S = 20


class Rights:
    """The ACLs of one broker."""

    def __init__(self, broker: Broker) -> None:
        self._admin = admin_client(broker.client_properties())

    def grant(
        self, name: str, *operations: str, kind: str = "TOPIC", user: str = "watcher", prefixed: bool = False
    ) -> None:
        """Allow a user these operations, such as READ, on a topic (or on another kind of resource)."""
        pattern = ResourcePatternType.PREFIXED if prefixed else ResourcePatternType.LITERAL
        bindings = [
            AclBinding(
                ResourceType[kind],
                name,
                pattern,
                f"User:{user}",
                "*",
                AclOperation[operation],
                AclPermissionType.ALLOW,
            )
            for operation in operations
        ]
        for made in self._admin.create_acls(bindings).values():
            made.result(_DEADLINE_S)

    def withdraw(self, name: str | None = None, *, user: str | None = None) -> None:
        """Remove all ACLs, or only those of a name or user."""
        wanted = AclBindingFilter(
            ResourceType.ANY,
            name,
            ResourcePatternType.ANY,
            user and f"User:{user}",
            None,
            AclOperation.ANY,
            AclPermissionType.ANY,
        )
        for ended in self._admin.delete_acls([wanted]).values():
            ended.result(_DEADLINE_S)
