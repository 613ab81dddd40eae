"""The properties of AWS MSK with IAM against a real broker, which takes unsigned tokens in the place of AWS's."""

from __future__ import annotations

import base64
import json
import time
from typing import TYPE_CHECKING

import pytest
from aws_msk_iam_sasl_signer import MSKAuthTokenProvider

from deploy.local.broker import Broker
from deploy.local.security import Security
from fleet.errors import RefusedError
from runtime.kafka.admin_client import make_admin_client
from runtime.kafka.consumer_client import make_consumer
from runtime.kafka.failures import Symptoms
from runtime.kafka.properties.translation import translate
from runtime.kafka.sender import Delivered, Sender
from runtime.process.clock import SystemClock
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.real
_LISTENER = "listener.name.sasl_ssl."
_MECHANISMS = "SCRAM-SHA-512,OAUTHBEARER"
_LIFE_S = 4


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Start a broker that takes unsigned tokens."""
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
    properties = {
        "sasl.enabled.mechanisms": _MECHANISMS,
        f"{_LISTENER}sasl.enabled.mechanisms": _MECHANISMS,
        f"{_LISTENER}oauthbearer.sasl.jaas.config": module,
    }
    security = Security(users={"admin": "a"}, super_users=("admin",), authorizer=False)
    folder = tmp_path_factory.mktemp("msk") / "broker"
    broker = Broker("M", folder, security=security, properties=properties)
    try:
        broker.start()
        broker.wait_ready()
        yield broker
    finally:
        broker.kill()


@pytest.fixture
def settings(broker):
    module = 'software.amazon.msk.auth.iam.IAMLoginModule required awsProfileName="mirror";'
    properties = broker.java_properties() | {
        "sasl.mechanism": "AWS_MSK_IAM",
        "sasl.jaas.config": module,
        "sasl.client.callback.handler.class": "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
        "aws_region": "eu-west-1",
    }
    return translate(properties, cluster="M", file="f")


@pytest.fixture
def asked(monkeypatch):
    """Give out unsigned tokens in the place of signed ones; return for what they were asked."""
    found = []

    def token(region, profile):
        found.append((region, profile))
        now = time.time()
        parts = ({"alg": "none"}, {"sub": "mirror", "iat": now - 1, "exp": now + _LIFE_S})
        encoded = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts)
        return b".".join([*encoded, b""]).decode(), int((now + _LIFE_S) * 1000)

    monkeypatch.setattr(MSKAuthTokenProvider, "generate_auth_token_from_profile", token)
    return found


def test_every_kind_of_client_logs_in_and_renews_its_token_while_nobody_polls_it(settings, asked):
    symptoms = Symptoms()
    admin = make_admin_client(settings, cluster="M", name="a", symptoms=symptoms)
    assert admin.list_topics(timeout=10.0).brokers
    consumer = make_consumer(settings, cluster="M", client_id="c", symptoms=symptoms)
    assert consumer.list_topics(timeout=10.0).brokers
    reports = []
    sender = Sender(
        settings, name="s", cluster="M", clock=SystemClock(), sink=reports.append, message_timeout_s=10
    )
    sender.start()
    try:
        known = len(asked)
        eventually(lambda: len(asked) >= known + 3, 30.0, what="three renewals")
        assert set(asked) == {("eu-west-1", "mirror")}
        assert admin.list_topics(timeout=10.0).brokers
        assert symptoms.found is None
    finally:
        consumer.close()
        sender.stop()
        sender.join(10.0)
    assert [report for report in reports if not isinstance(report, Delivered)] == []


def test_without_credentials_a_client_says_so_at_once(settings, monkeypatch, tmp_path):
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    with pytest.raises(RefusedError, match="the AWS profile is not in the AWS configuration files"):
        make_admin_client(settings, cluster="M", name="a", symptoms=Symptoms())
