"""The OAUTHBEARER settings at work: librdkafka asks a token endpoint on the loopback for its token."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient

from fleet.errors import RefusedError
from runtime.kafka.failures import Symptoms, explain, listening_logger
from runtime.kafka.properties.translation import translate
from tests.eventually import eventually
from tests.runtime.kafka.authority import sign

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
_JWT_BEARER = "org.apache.kafka.common.security.oauthbearer.JwtBearerJwtRetriever"
_CA = sign("ca", ca=True)
_SERVER = sign("127.0.0.1", _CA, hosts=("127.0.0.1",))


class _Provider(ThreadingHTTPServer):
    """Gives a token to whoever asks, or refuses everybody, and keeps what it was asked."""

    refusing = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, str]] = []


class _Handler(BaseHTTPRequestHandler):
    server: _Provider

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        credentials = self.headers.get("authorization", "Basic ").removeprefix("Basic ")
        self.server.asked.append((base64.b64decode(credentials).decode(), body))
        answer = {"error": "invalid_client"} if self.server.refusing else {"access_token": _token()}
        text = json.dumps(answer).encode()
        self.send_response(401 if self.server.refusing else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Keep the output of the tests clean."""


def _token() -> str:
    now = int(time.time())
    parts = [{"alg": "none"}, {"sub": "me", "iat": now, "exp": now + 3600}]
    return (
        ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
        + ".x"
    )


@pytest.fixture
def provider() -> Iterator[_Provider]:
    server = _Provider()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def _client(properties: dict[str, str], symptoms: Symptoms) -> AdminClient:
    given = {
        "bootstrap.servers": "127.0.0.1:1",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
    }
    settings = dict(translate(given | properties, cluster="A", file="f").librdkafka)
    return AdminClient(settings | {"error_cb": symptoms.hear_error}, logger=listening_logger(symptoms))


def _poll_until(client: AdminClient, condition: Callable[[], object]) -> None:
    def polled() -> object:
        client.poll(0.02)  # serves the callbacks; how many there were tells nothing
        return condition()

    eventually(polled, 10.0)


def test_asks_with_the_client_of_the_jaas_line(provider):
    client = _client(
        {
            "sasl.oauthbearer.token.endpoint.url": f"http://127.0.0.1:{provider.server_port}/token",
            "sasl.jaas.config": f'{_MODULE} required clientId="mirror:watch" clientSecret="s%3D+/=&é" scope="kafka";',
        },
        Symptoms(),
    )
    _poll_until(client, lambda: provider.asked)
    credentials, body = provider.asked[0]
    # As it is, without the URL encoding of RFC 6749: Java's default too, sasl.oauthbearer.header.urlencode=false.
    assert credentials == "mirror:watch:s%3D+/=&é"
    assert body == "grant_type=client_credentials&scope=kafka"


def test_trusts_the_authority_of_the_jaas_line_at_an_https_endpoint(provider, tmp_path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    (tmp_path / "server.pem").write_text(_SERVER.pem + _SERVER.key_pem(), encoding="utf-8")
    (tmp_path / "ca.pem").write_text(_CA.pem, encoding="utf-8")
    context.load_cert_chain(tmp_path / "server.pem")
    provider.socket = context.wrap_socket(provider.socket, server_side=True)
    client = _client(
        {
            "sasl.oauthbearer.token.endpoint.url": f"https://127.0.0.1:{provider.server_port}/token",
            "sasl.jaas.config": f"{_MODULE} required clientId=c clientSecret=s "
            f'ssl.truststore.location="{tmp_path}/ca.pem";',
        },
        Symptoms(),
    )
    _poll_until(client, lambda: provider.asked)
    assert provider.asked[0][0] == "c:s"


def test_signs_an_assertion_for_the_jwt_bearer_grant(provider, tmp_path: Path):
    key = tmp_path / "key.pem"
    key.touch(mode=0o600)
    key.write_text(_SERVER.key_pem(), encoding="utf-8")
    client = _client(
        {
            "sasl.oauthbearer.token.endpoint.url": f"http://127.0.0.1:{provider.server_port}/token",
            "sasl.oauthbearer.jwt.retriever.class": _JWT_BEARER,
            "sasl.oauthbearer.assertion.private.key.file": str(key),
            "sasl.oauthbearer.assertion.algorithm": "ES256",
            "sasl.oauthbearer.assertion.claim.iss": "mirrorwatch",
        },
        Symptoms(),
    )
    _poll_until(client, lambda: provider.asked)
    fields = dict(part.split("=", 1) for part in provider.asked[0][1].split("&"))
    assert fields["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    claims = fields["assertion"].split(".")[1]
    assert json.loads(base64.urlsafe_b64decode(claims + "=="))["iss"] == "mirrorwatch"


def test_a_refused_client_is_explained(provider):
    provider.refusing = True
    symptoms = Symptoms()
    client = _client(
        {
            "sasl.oauthbearer.token.endpoint.url": f"http://127.0.0.1:{provider.server_port}/token",
            "sasl.jaas.config": f"{_MODULE} required clientId=c clientSecret=wrong;",
        },
        symptoms,
    )
    _poll_until(client, lambda: symptoms.found is not None and symptoms.found.weight > 1)
    vague = KafkaError(KafkaError._TRANSPORT, "Failed to get metadata: Local: Broker transport failure")
    error = explain(vague, cluster="A", doing="connecting", symptoms=symptoms)
    assert isinstance(error, RefusedError)
    assert "the identity provider gives no token" in str(error)
