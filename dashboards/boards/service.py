"""Mirrorwatch itself: whether its own measurements can be trusted."""

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
        description="99th percentile of how late timers run. Above half a second timing is doubtful.",
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
        description="How long ago each collector last read all that it is for.",
        unit="s",
        queries=(Query(f"max {_BY_COLLECTOR} (time() - {_LAST})", _COLLECTOR),),
    ),
    Panel(
        title="Control probes that failed",
        description="Records to and from one cluster that did not come back: that cluster is at fault, not a"
        " mirror.",
        unit="cps",
        queries=(Query(f"sum by (kafka_cluster, outcome) ({_FAILED})", "{{kafka_cluster}} {{outcome}}"),),
    ),
    Panel(
        title="Clock skew",
        description="How far each cluster's clock is from that of Mirrorwatch's host, at least. A round trip"
        " can show no less than zero.",
        unit="s",
        minimum=None,
        queries=(Query(f"max by (kafka_cluster) ({_SKEW})", "{{kafka_cluster}}"),),
    ),
    Panel(
        title="Client certificates",
        description="Time until the client certificate for each cluster expires; empty where there is none.",
        unit="s",
        queries=(Query(f"min by (kafka_cluster) ({_EXPIRES}) - time()", "{{kafka_cluster}}"),),
        may_be_empty=True,
    ),
    Panel(
        title="Commits read",
        description="Commits of consumer groups that were read a second, by cluster.",
        unit="cps",
        queries=(
            Query(f"sum by (kafka_cluster) ({rate(series_lag.COMMITS_CONSUMED_TOTAL)})", "{{kafka_cluster}}"),
        ),
    ),
)

SERVICE = Board(
    uid="mirrorwatch-service",
    title="Mirrorwatch / Service",
    description="Mirrorwatch itself: whether its own measurements can be trusted.",
    rows=(("Process", _PROCESS),),
)
