"""The sections `objectives` and `links` of the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, ValidationError, ValidationInfo, field_validator

from alerts.objectives.burn import longest_window_s
from alerts.objectives.objective import DEFAULT_PERIOD_S, ObjectiveKind
from fleet.quantity import duration_text
from runtime.config.problems import problems_of
from runtime.config.values import Duration, Number, Reload, Section, declared

if TYPE_CHECKING:
    from collections.abc import Mapping

Percent = Annotated[Number, Field(ge=0, lt=100)]
"""A share in percent; 100 would leave no error budget."""


class ObjectiveConfig(Section):
    """One objective, for one flow or for all that the pattern matches; `target` in percent.

    `good_minutes` counts minutes instead of probes: a minute is good if this percentage of its probes is.
    """

    flow: str = Field(
        default="*",
        min_length=1,
        max_length=300,
        description=(
            "name of a flow, or a shell pattern such as `A->*`; the last entry of a flow and kind counts"
        ),
        json_schema_extra=declared(Reload.AT_ONCE),
    )
    kind: ObjectiveKind = Field(
        description="what the objective is about",
        json_schema_extra=declared(Reload.AT_ONCE),
    )
    target: Percent | None = Field(
        default=None,
        description="share of good records or time; not for `loss`",
        json_schema_extra=declared(Reload.AT_ONCE, default="`99.9` for availability, else `99`"),
    )
    period: Duration = Field(
        default=DEFAULT_PERIOD_S,
        le=400 * 86_400,
        description="time over which the target must be met; longer than `3d`",
        json_schema_extra=declared(Reload.AT_ONCE),
    )
    limit: Duration | None = Field(
        default=None,
        gt=0,
        description="what `replication_lag`, `recovery_point` or `audit_age` must stay within",
        json_schema_extra=declared(Reload.AT_ONCE, default="`5m`; `26h` for `audit_age`"),
    )
    good_minutes: Percent | None = Field(
        default=None,
        description="count minutes instead of probes: a minute is good if this share of its probes is",
        json_schema_extra=declared(Reload.AT_ONCE),
    )

    @field_validator("target")
    @classmethod
    def _target(cls, target: float | None, info: ValidationInfo) -> float | None:
        kind = info.data.get("kind")
        if kind is ObjectiveKind.LOSS and target is not None:
            raise ValueError("must not be set for loss, which every lost record breaks; remove the target")
        return target

    @field_validator("period")
    @classmethod
    def _period(cls, period_s: float) -> float:
        if period_s <= longest_window_s():
            raise ValueError(
                f"must be longer than {duration_text(longest_window_s())}, the longest window of an alert;"
                " 28d is usual"
            )
        return period_s

    @field_validator("limit")
    @classmethod
    def _limit(cls, limit_s: float | None, info: ValidationInfo) -> float | None:
        kind = info.data.get("kind")
        if limit_s is not None and kind is not None and not kind.has_limit:
            raise ValueError(f"must not be set for {kind}, whose limit is the canary threshold; remove it")
        return limit_s

    @field_validator("good_minutes")
    @classmethod
    def _good_minutes(cls, share: float | None, info: ValidationInfo) -> float | None:
        kind = info.data.get("kind")
        if share is not None and kind is not None and (kind.has_limit or kind is ObjectiveKind.LOSS):
            raise ValueError(f"must not be set for {kind}, only for availability and freshness; remove it")
        return share


def objective_problems(entry: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what the configuration refuses in an entry of `objectives`: key and sentence."""
    try:
        ObjectiveConfig.model_validate(entry)
    except ValidationError as error:
        found = problems_of(error, file="", prefix="", line_of=lambda _path: None, model=ObjectiveConfig)
        return [(one.key, one.sentence) for one in found]
    return []


def address_of(text: str) -> str:
    """Return an address without a final slash; raises ValueError, without text that may be a password."""
    try:
        parts = urlsplit(text)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        valid = False
    if not valid:
        said = f" '{text[:60]}'" if "@" not in text else ""
        raise ValueError(f"invalid address{said}; write http:// or https://, a host, and no user")
    return text.rstrip("/")


Link = Annotated[str, AfterValidator(address_of)]


class LinksConfig(Section):
    """Addresses of other tools, for links on pages, in alerts and in the API."""

    prometheus: Link | None = Field(
        default=None,
        description="address of Prometheus",
        json_schema_extra=declared(Reload.AT_ONCE),
    )
    grafana: Link | None = Field(
        default=None,
        description="address of Grafana; alerts link to its dashboards",
        json_schema_extra=declared(Reload.AT_ONCE),
    )
    runbooks: Link | None = Field(
        default=None,
        description="address of a copy of the runbooks; without it, alerts link to those of the service",
        json_schema_extra=declared(Reload.AT_ONCE),
    )
