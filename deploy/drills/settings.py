"""Settings of the mirror that drills of both kinds need: drills with the same ones share a stack."""

from __future__ import annotations

NEVER = {"refresh.topics.interval.seconds": "5", "refresh.topics.enabled": "false"}
TOLD_OTHERWISE = {"refresh.topics.enabled": "true"}  # to the service, or ten minutes would be a warm-up
OWN_SETTINGS = {"sync.topic.configs.enabled": "false"}  # what is set on the target stays
PROXIED = {"proxied": "true"}  # the runner puts the proxy's address in its place
