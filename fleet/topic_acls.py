"""ACLs on topics as their cluster shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

EVERY = "*"  # all topics, as the name of a literal pattern; or any host
READ, DESCRIBE, ALL = "Read", "Describe", "All"


class TopicAcl(NamedTuple):
    """One ACL: whether it allows or denies a principal an operation from a host, on a topic or a prefix."""

    name: str
    prefixed: bool
    principal: str
    host: str
    operation: str  # as kafka-acls writes it, such as Read or DescribeConfigs
    allows: bool


@dataclass(frozen=True, slots=True)
class TopicAcls:
    """The ACLs of a cluster on topics. `unread` is why they could not be read."""

    rules: tuple[TopicAcl, ...] = ()
    has_authorizer: bool = True
    unread: str = ""
