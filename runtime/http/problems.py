"""API errors as RFC 9457: `application/problem+json` with a stable code.

`title` belongs to the code, `detail` to the occurrence. `problems` lists all errors if there may be several.
Scripts compare `code`, people read `detail`.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from aiohttp import hdrs, web

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PROBLEM_JSON = "application/problem+json"


class ProblemKind(NamedTuple):
    """An error code with its fixed `title`."""

    status: int
    title: str


KINDS: Mapping[str, ProblemKind] = {
    "invalid_query": ProblemKind(400, "Query parameters are unknown or invalid"),
    "invalid_path": ProblemKind(400, "The path of the address is invalid"),
    "invalid_document": ProblemKind(400, "The posted document is invalid"),
    "invalid_configuration": ProblemKind(400, "The configuration is invalid"),
    "invalid_request": ProblemKind(400, "The request is invalid"),
    "sign_in_required": ProblemKind(401, "A user is required"),
    "token_required": ProblemKind(401, "A bearer token is required"),
    "forbidden": ProblemKind(403, "The configuration forbids this request"),
    "not_found": ProblemKind(404, "No page at this address"),
    "unknown_flow": ProblemKind(404, "There is no such flow"),
    "unknown_cluster": ProblemKind(404, "There is no such Kafka cluster"),
    "unknown_group": ProblemKind(404, "There is no such consumer group"),
    "unknown_run": ProblemKind(404, "There is no such checksum run"),
    "unknown_incident": ProblemKind(404, "There is no such incident"),
    "lag_off": ProblemKind(404, "The lag monitor is off"),
    "audit_off": ProblemKind(404, "The failover audit is off"),
    "method_not_allowed": ProblemKind(405, "The method is not allowed at this address"),
    "timeout": ProblemKind(408, "The request took too long"),
    "not_latched": ProblemKind(409, "The canary is not latched"),
    "conflict": ProblemKind(409, "The request conflicts with the present state"),
    "too_large": ProblemKind(413, "The request is too large"),
    "unsupported_media_type": ProblemKind(415, "The media type is not supported"),
    "too_many_requests": ProblemKind(429, "Too many requests"),
    "internal": ProblemKind(500, "The request failed inside mirrorwatch"),
    "not_ready": ProblemKind(503, "It is not known yet"),
    "unavailable": ProblemKind(503, "Mirrorwatch cannot answer right now"),
}

# What a refusal without a code of its own gets.
_BY_STATUS = {
    400: "invalid_request",
    401: "token_required",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    429: "too_many_requests",
    503: "unavailable",
}
_KEPT_HEADERS = (hdrs.ALLOW, hdrs.CONNECTION, hdrs.RETRY_AFTER, hdrs.WWW_AUTHENTICATE)


class ProblemError(web.HTTPException):
    """An API error with its code; raise it from a handler."""

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        path: str,
        problems: Iterable[str] = (),
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        """Make it; `path` is the request's, `problems` all that is wrong, `more` further members."""
        self.status_code = KINDS[code].status
        self.code = code
        self.detail = detail.strip()
        self.problems = tuple(problems)
        document = problem_document(code, self.detail, path=path, problems=self.problems, **more)
        super().__init__(
            headers=headers, text=json.dumps(document, ensure_ascii=True) + "\n", content_type=PROBLEM_JSON
        )


def problem_document(
    code: str, detail: str, *, path: str, problems: Iterable[str] = (), **more: Any
) -> dict[str, Any]:
    """Return the document of a refusal; `problems` is there where something is wrong with what was sent."""
    kind, listed = KINDS[code], list(problems)
    return {
        "type": f"urn:mirrorwatch:problem:{code}",
        "title": kind.title,
        "status": kind.status,
        "code": code,
        "detail": detail,
        "instance": path,
        **({"problems": listed} if listed else {}),
        **more,
    }


def as_problem(refusal: web.HTTPException, *, path: str) -> web.HTTPException:
    """Return any refusal of HTTP as a problem; one that is a problem, or refuses nothing, as it is."""
    if isinstance(refusal, ProblemError) or refusal.status < HTTPStatus.BAD_REQUEST:
        return refusal
    other = "invalid_request" if refusal.status < HTTPStatus.INTERNAL_SERVER_ERROR else "internal"
    code = _BY_STATUS.get(refusal.status, other)
    if refusal.headers.get(hdrs.WWW_AUTHENTICATE, "").startswith("Basic"):
        code = "sign_in_required"
    kept = {str(name): refusal.headers[name] for name in _KEPT_HEADERS if name in refusal.headers}
    return ProblemError(code, refusal.text or "", path=path, headers=kept)
