"""What Prometheus scrapes: samples of the service as text. The one use of the Prometheus client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prometheus_client import ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from fleet.series.catalogue import CATALOGUE
from fleet.series.checksum import CHECKSUM_CATALOGUE
from fleet.series.failover import FAILOVER_CATALOGUE
from fleet.series.kinds import Kind
from fleet.series.lag import LAG_CATALOGUE
from fleet.series.process import PROCESS_CATALOGUE
from lagmon.exposition.format import form_of
from lagmon.exposition.joining import joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fleet.series.kinds import Sample, Series
    from mirrorwatch.service.samples import ServiceSamples

_PROCESS = ProcessCollector(registry=None)  # reads /proc whenever it is asked, and keeps nothing
_ELSEWHERE = {
    one.name for one in (*LAG_CATALOGUE, *CHECKSUM_CATALOGUE, *FAILOVER_CATALOGUE)
}  # rendered by their own parts
_OWN = tuple(one for one in CATALOGUE if one.name not in _ELSEWHERE)
_OPTIONAL = {one.name for one in (*PROCESS_CATALOGUE, *(one for one in _OWN if one.opt_in))}
_FAMILY = {
    Kind.COUNTER: CounterMetricFamily,
    Kind.GAUGE: GaugeMetricFamily,
    Kind.HISTOGRAM: HistogramMetricFamily,
}


def render(told: ServiceSamples, accept: str) -> tuple[bytes, str]:
    """Return the body of a scrape and its content type, in the format that the scraper prefers."""
    try:
        encode, content_type = choose_encoder(accept)
    except (TypeError, ValueError):  # invalid version in the header
        encode, content_type = choose_encoder("")
    own: bytes = encode(_Families(told.samples))
    if told.checksums is not None:
        form = form_of(content_type)
        own = b"".join(joined(own, [told.checksums.text(form)], form))
    return own, content_type


class _Families(Collector):
    """Replaces the registry of an encoder."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._samples = samples

    def collect(self) -> Iterator[Metric]:
        """Yield every family in the order of the catalogue; one without samples has its header alone."""
        families = {one.name: _family(one) for one in _OWN}
        for one, labels, value in self._samples:
            if isinstance(value, int | float):
                families[one.name].add_metric(labels, value)
            else:
                families[one.name].add_metric(labels, buckets=value.cumulative(), sum_value=value.sum_s)
        read = {sample.name: sample.value for one in _PROCESS.collect() for sample in one.samples}
        for one in PROCESS_CATALOGUE:
            if one.full_name in read:
                families[one.name].add_metric([], read[one.full_name])
        for name, family in families.items():
            if family.samples or name not in _OPTIONAL:
                yield family


def _family(one: Series) -> Any:
    name = one.full_name.removesuffix("_total") if one.kind is Kind.COUNTER else one.full_name
    return _FAMILY[one.kind](name, one.help, labels=one.label_names)
