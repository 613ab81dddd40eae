"""Selectors and rates of the service's own series, by the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.panel import Variable
from fleet.series import catalogue as series

if TYPE_CHECKING:
    from fleet.series.kinds import Series

JOB = 'job=~"$job"'
FLOW = 'flow=~"$flow"'
ONE_FLOW = 'flow="$flow"'  # Grafana escapes a name for a regular expression only where several can be chosen
CLUSTER = 'kafka_cluster=~"$cluster"'


def of(one: Series, *matchers: str, suffix: str = "") -> str:
    """Return a selector of a series of the service."""
    return f"{one.full_name}{suffix}{{{', '.join((JOB, *matchers))}}}"


def rate(one: Series, *matchers: str, suffix: str = "") -> str:
    """Return the rate of a counter at the panel's resolution."""
    return f"rate({of(one, *matchers, suffix=suffix)}[$__rate_interval])"


def buckets(one: Series, *matchers: str, by: str = "le") -> str:
    """Return the rates of a histogram's buckets."""
    return f"sum by ({by}) ({rate(one, *matchers, suffix='_bucket')})"


def largest(count: int, labels: str, selector: str) -> str:
    """Return the series with the largest values; of those that several replicas have, one."""
    return f"topk({count}, max by ({labels}) ({selector}))"


def smallest(count: int, labels: str, selector: str) -> str:
    """Return the series with the smallest values; of those that several replicas have, one."""
    return f"bottomk({count}, min by ({labels}) ({selector}))"


def flows(*, many: bool) -> Variable:
    """Return the variable `flow`."""
    return Variable(name="flow", label="Flow", series=of(series.FLOW_INFO), of="flow", many=many)
