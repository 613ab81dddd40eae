"""The API against its own OpenAPI document, over faked clusters: answers, refusals, tokens."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from jsonschema_rs import Draft202012Validator
from schemathesis.specs.openapi.checks import positive_data_acceptance

from mirrorwatch.api import reference
from mirrorwatch.api.openapi import openapi_document
from mirrorwatch.api.table import OPERATIONS, SCHEMAS
from mirrorwatch.audits.run_document import FIELDS
from runtime.http.problems import KINDS
from tests.mirrorwatch import api_stage
from tests.mirrorwatch.stored_incidents import ENDED
from tests.mirrorwatch.told_runs import counted, run

ROOT = Path(__file__).parents[2]
DOCUMENT = openapi_document("0.1.0")
TOKENS = {"audit": api_stage.AUDIT, "operator": api_stage.OPERATOR}

# A record's own timestamp may be no moment of any calendar, and is a text then.
TIMESTAMPS = {
    f"ChecksumDocument.{table}.shown[].{name}"
    for table in ("findings", "expected", "unsettled")
    for name in ("at", "target_at", "until")
}

# One address for each operation that is read, and what it must have found there.
READ = {
    "/api/v1/openapi.json": "OpenApi",
    "/api/v1/flows": "Flows",
    "/api/v1/flows?limit=1&offset=1&fields=flow,canary": "Flows",
    "/api/v1/flows/A:B": "Flow",
    "/api/v1/flows/A:B/offsets": "Offsets",
    "/api/v1/flows/A:B/offsets?limit=2&search=wide&fields=topic,partition": "Offsets",
    "/api/v1/flows/A:B/counts?topic=orders": "Counts",
    "/api/v1/groups": "Groups",
    "/api/v1/groups?kafka_cluster=A&limit=1": "Groups",
    "/api/v1/groups/A/billing": "GroupDetails",
    "/api/v1/groups/A/a%2Fb": "GroupDetails",
    "/api/v1/failover": "FailoverGroups",
    "/api/v1/failover?flow=A:B&limit=1&search=bill&fields=group,ready": "FailoverGroups",
    "/api/v1/failover/A:B/reports": "FailoverGroupDetails",
    "/api/v1/checksums/r1": "ChecksumDocument",
    "/api/v1/incidents": "Incidents",
    "/api/v1/incidents?flow=A:B&state=open&limit=1&fields=incident,cause": "Incidents",
    f"/api/v1/incidents/{ENDED.incident}": "Incident",
}


@pytest.fixture(scope="module")
def url():
    with api_stage.served() as url:
        yield url


def problems_of(document, name):
    schema = {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}
    return [
        f"{'/'.join(map(str, one.instance_path))}: {one.message[:300]}"
        for one in Draft202012Validator(schema).iter_errors(document)
    ]


def test_every_route_of_the_api_is_in_the_table_and_the_other_way_round():
    served = {
        (route.method, route.resource.canonical)
        for route in api_stage.whole_application().router.routes()
        if route.resource.canonical.startswith("/api/") and route.method != "HEAD"
    }
    assert served == {(one.method, one.public_path) for one in OPERATIONS}
    assert len({one.name for one in OPERATIONS}) == len(OPERATIONS)


def test_whatever_the_table_names_is_there():
    named = {
        name for one in OPERATIONS for name in (*one.answers.values(), *([one.body] if one.body else []))
    }
    assert named <= SCHEMAS.keys()
    assert {code for one in OPERATIONS for code in one.problems} <= KINDS.keys()
    text = json.dumps(DOCUMENT)
    referred = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert referred == DOCUMENT["components"]["schemas"].keys()


def members(schema, path=""):
    """Yield every member of a schema with its name and its own schema."""
    for name, one in schema.get("properties", {}).items():
        yield f"{path}.{name}", one
        yield from members(one, f"{path}.{name}")
    for inner in (schema.get("items"), schema.get("additionalProperties")):
        if isinstance(inner, dict):
            yield from members(inner, f"{path}[]")
    for inner in schema.get("anyOf", ()):
        yield from members(inner, path)


def is_named_wrongly(path, schema):
    name = path.rsplit(".", 1)[-1]
    kinds = {schema.get("type")} if isinstance(schema.get("type"), str) else {*schema.get("type", ())}
    named_as_moment = name in ("at", "since", "until", "now") or name.endswith("_at")
    wrong = named_as_moment is not (schema.get("format") == "date-time") and path not in TIMESTAMPS
    wrong |= "number" in kinds and re.search("(_s(_most)?|ratio|coverage)$", name) is None
    return wrong or re.fullmatch("[a-z][a-z0-9_]*", name) is None


def test_a_name_shows_what_its_value_is():
    found = [one for name, schema in SCHEMAS.items() for one in members(schema, name)]
    assert len(found) > 200
    assert [path for path, schema in found if is_named_wrongly(path, schema)] == []
    assert is_named_wrongly("Flow.begun", {"type": "string", "format": "date-time"})
    assert is_named_wrongly("Flow.age", {"type": "number"})


@pytest.mark.parametrize(("address", "name"), READ.items())
def test_every_answer_conforms_to_its_closed_schema(url, address, name):
    answer = requests.get(url + address, timeout=30)
    assert answer.status_code == 200, answer.text
    document = answer.json()
    assert problems_of(document, name) == []
    if "fields" not in address and "partitions" in document:
        assert document["partitions"]


def test_a_member_that_no_schema_names_is_found(url):
    document = requests.get(f"{url}/api/v1/flows", timeout=30).json()
    document["flows"][0]["more"] = 1
    assert "more" in "".join(problems_of(document, "Flows"))


def test_a_posted_run_has_the_fields_of_its_schema():
    assert SCHEMAS["ChecksumDocument"]["properties"].keys() == FIELDS
    assert problems_of(counted(), "ChecksumDocument") == []


def test_posted_runs_are_answered_as_the_schema_has_it(url):
    headers = {"Authorization": f"Bearer {api_stage.AUDIT}"}
    for document in (run("r2"), {"runs": [run("r3")]}):
        assert problems_of(document, "PostedRuns") == []
        answer = requests.post(f"{url}/api/v1/checksums", json=document, headers=headers, timeout=30)
        assert answer.status_code == 201, answer.text
        assert problems_of(answer.json(), "StoredRuns") == []


@pytest.mark.parametrize(
    ("method", "address", "code"),
    [
        ("GET", "/api/v1/flows?sort=flow", "invalid_query"),
        ("GET", "/api/v1/flows/A:C", "unknown_flow"),
        ("GET", "/api/v1/flows/A:C/offsets", "unknown_flow"),
        ("GET", "/api/v1/flows/A:C/counts?topic=t", "unknown_flow"),
        ("GET", "/api/v1/groups?kafka_cluster=C", "unknown_cluster"),
        ("GET", "/api/v1/groups/A/none", "unknown_group"),
        ("GET", "/api/v1/groups/A/%FF", "invalid_path"),
        ("GET", "/api/v1/checksums/none", "unknown_run"),
        ("GET", "/api/v1/nothing", "not_found"),
        ("DELETE", "/api/v1/flows", "method_not_allowed"),
        ("POST", "/api/v1/checksums", "token_required"),
        ("POST", "/api/v1/flows/A:B/canary/resume", "token_required"),
    ],
)
def test_every_refusal_is_a_problem_document(url, method, address, code):
    answer = requests.request(method, url + address, timeout=30)
    assert answer.headers["Content-Type"].startswith("application/problem+json")
    problem = answer.json()
    assert (problem["code"], answer.status_code) == (code, KINDS[code].status)
    assert problems_of(problem, "Problem") == []


def test_the_reference_in_docs_is_that_of_the_table():
    page = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    assert page == reference.reference(), "run: python -m mirrorwatch.api.reference > docs/reference/api.md"


# A run may fit the schema and be refused: its moments and numbers have to fit each other.
EXCLUDED = [positive_data_acceptance]

api = schemathesis.openapi.from_dict(DOCUMENT)


@api.parametrize()
@settings(
    max_examples=5,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
def test_no_request_breaks_it(case, url):
    operation = next(one for one in OPERATIONS if one.name == case.operation.definition.raw["operationId"])
    headers = {"Authorization": f"Bearer {TOKENS[operation.bearer]}"} if operation.bearer else {}
    case.call_and_validate(base_url=url, headers=headers, timeout=30, excluded_checks=EXCLUDED)
