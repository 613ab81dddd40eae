"""Mirrorwatch itself: its health and the reliability of its measurements."""

from __future__ import annotations

from dashboards.panel import Board, Form, Panel, Query
from dashboards.promql import JOB, buckets, of, rate
from fleet.series import catalogue as series
from fleet.series import lag as series_lag

_COLLECTOR = "{{kafka_cluster}} {{collector}}"
_BY_COLLECTOR = "by (kafka_cluster, collector)"
_LOOP = buckets(series.EVENT_LOOP_DELAY_SECONDS, by="instance, le")
_LAST = of(series.COLLECTOR_LAST_SUCCESS_TIMESTAMP_SECONDS)
_FAILED = rate(series.CONTROL_PROBES_TOTAL, 'outcome!="good"')
_SKEW = of(series.KAFKA_CLUSTER_CLOCK_SKEW_SECONDS)
_EXPIRES = of(series.CLIENT_CERTIFICATE_EXPIRY_TIMESTAMP_SECONDS)
_PROCESS = (
    Panel(
        title="Instances that answer",
        description="Instances that Prometheus can scrape.",
        form=Form.NUMBER,
        width=6,
        queries=(Query(f"sum (up{{{JOB}}})"),),
    ),
    Panel(
        title="Event loop lag",
        description="99th percentile of timer delays. Above 0.5 s, latencies are unreliable.",
        unit="s",
        width=18,
        queries=(Query(f"histogram_quantile(0.99, {_LOOP})", "{{instance}}"),),
    ),
    Panel(
        title="Errors",
        description="Failed attempts of collectors, and failed operations on the store, a second.",
        unit="cps",
        queries=(
            Query(f"sum {_BY_COLLECTOR} ({rate(series.COLLECTOR_ERRORS_TOTAL)})", _COLLECTOR),
            Query(f"sum by (operation) ({rate(series.STORE_ERRORS_TOTAL)})", "store {{operation}}"),
        ),
    ),
    Panel(
        title="Age of what collectors know",
        description="Time since the last complete read of each collector.",
        unit="s",
        queries=(Query(f"max {_BY_COLLECTOR} (time() - {_LAST})", _COLLECTOR),),
    ),
    Panel(
        title="Failed control probes",
        description="Records written to and read from one cluster. Failures point to the cluster, not to a"
        " mirror.",
        unit="cps",
        queries=(Query(f"sum by (kafka_cluster, outcome) ({_FAILED})", "{{kafka_cluster}} {{outcome}}"),),
    ),
    Panel(
        title="Clock skew",
        description="Least difference between the clock of each cluster and Mirrorwatch's host. Round trips"
        " hide smaller differences.",
        unit="s",
        minimum=None,
        queries=(Query(f"max by (kafka_cluster, instance) ({_SKEW})", "{{kafka_cluster}} {{instance}}"),),
    ),
    Panel(
        title="Client certificates",
        description="Time until the client certificate for each cluster expires, negative afterwards; empty"
        " where there is none.",
        unit="s",
        minimum=None,
        queries=(Query(f"min by (kafka_cluster) ({_EXPIRES}) - time()", "{{kafka_cluster}}"),),
        may_be_empty=True,
    ),
    Panel(
        title="Commits read",
        description="Commits of consumer groups read per second, by cluster and instance.",
        unit="cps",
        queries=(
            Query(
                f"sum by (kafka_cluster, instance) ({rate(series_lag.COMMITS_CONSUMED_TOTAL)})",
                "{{kafka_cluster}} {{instance}}",
            ),
        ),
    ),
)

SERVICE = Board(
    uid="mirrorwatch-service",
    title="Mirrorwatch / Service",
    description="Mirrorwatch itself: its health and the reliability of its measurements.",
    rows=(("Process", _PROCESS),),
)
