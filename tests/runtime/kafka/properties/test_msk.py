"""AWS MSK with IAM: which properties ask for it, what becomes of them, and the tokens, signed offline."""

from __future__ import annotations

import base64
import threading
import time
from urllib.parse import parse_qs, urlsplit

import pytest
from confluent_kafka import KafkaException

from fleet.errors import ConfigurationError, RefusedError, UnavailableError
from runtime.kafka.failures import Symptoms, explain
from runtime.kafka.properties import msk
from runtime.kafka.properties.draft import Draft, Surroundings
from runtime.kafka.properties.msk_tokens import MARK, TokenCallback, principal_of, sign_token, with_tokens
from runtime.kafka.properties.translation import translate

PACKAGE = "software.amazon.msk.auth.iam."
MODULE = f"{PACKAGE}IAMLoginModule required"
HOST = "b-1.shop.abc123.c2.kafka.eu-west-1.amazonaws.com:9098"
JAVA = {
    "bootstrap.servers": HOST,
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "AWS_MSK_IAM",
    "sasl.jaas.config": f"{MODULE};",
    "sasl.client.callback.handler.class": f"{PACKAGE}IAMClientCallbackHandler",
}
OAUTH = JAVA | {
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
    "sasl.login.callback.handler.class": f"{PACKAGE}IAMOAuthBearerLoginCallbackHandler",
    "sasl.client.callback.handler.class": f"{PACKAGE}IAMOAuthBearerLoginCallbackHandler",
}
KEYS = {"AWS_ACCESS_KEY_ID": "AKIAINVENTED", "AWS_SECRET_ACCESS_KEY": "hunter2secret"}


@pytest.fixture(autouse=True)
def no_aws_of_this_machine(monkeypatch, tmp_path):
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", *KEYS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))


def drafted(properties, *, environ=None, installed=True, region=""):
    draft = Draft(properties, Surroundings(lambda _: b"", lambda _: False, lambda key: ("f", key)))
    if msk.is_meant(draft):
        msk.translate(
            draft, environ=environ or {}, installed=lambda: installed, configured=lambda _profile: region
        )
    return draft


def recipe(properties, **around):
    draft = drafted(properties, **around)
    assert draft.problems == []
    assert draft.settings["sasl.mechanism"] == "OAUTHBEARER"
    (_, text) = draft.settings["sasl.oauthbearer.config"].split(MARK)
    return text


@pytest.mark.parametrize(
    ("options", "made_from"),
    [
        ("", ""),
        (' awsProfileName="mirror"', ', "profile": "mirror"'),
        (" awsRoleArn=\"arn:aws:iam::1:role/m\" awsRoleSessionName='s'", ', "role_arn": "arn:aws:iam::1:role/m", "session_name": "s"'),
        (' awsRoleArn="r" awsStsRegion="us-east-1" awsRoleExternalId="x"', ', "role_arn": "r", "sts_region": "us-east-1", "external_id": "x"'),
        (' awsDebugCreds=true awsMaxRetries="3" awsMaxBackOffTimeMs="500"', ""),
    ],
)  # fmt: skip
@pytest.mark.parametrize("properties", [JAVA, OAUTH])
def test_options_of_the_login_module(properties, options, made_from):
    module = properties["sasl.jaas.config"].replace(";", f"{options};")
    assert recipe(properties | {"sasl.jaas.config": module}) == '{"region": "eu-west-1"' + made_from + "}"


@pytest.mark.parametrize(
    ("servers", "environ", "region"),
    [
        (HOST, {"AWS_REGION": "us-east-1"}, "eu-west-1"),
        (f"{HOST},{HOST.replace('b-1', 'b-2')}", {}, "eu-west-1"),
        ("boot-x.c1.kafka-serverless.us-gov-west-1.amazonaws.com:9098", {}, "us-gov-west-1"),
        ("b-1.x.c2.kafka.cn-north-1.amazonaws.com.cn:9098", {}, "cn-north-1"),
        ("SASL_SSL://B-1.X.C2.KAFKA.EU-WEST-1.AMAZONAWS.COM:9098", {}, "eu-west-1"),
        ("proxy:9098", {"AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-2"}, "us-east-1"),
        ("proxy:9098", {"AWS_DEFAULT_REGION": "us-east-2"}, "us-east-2"),
        ("kafka.eu-west-1.amazonaws.com.example:9098", {"AWS_REGION": "us-east-1"}, "us-east-1"),
    ],
)
def test_the_region(servers, environ, region):
    assert recipe(JAVA | {"bootstrap.servers": servers}, environ=environ) == f'{{"region": "{region}"}}'


def test_the_region_that_is_written_goes_first_and_that_of_the_profile_last():
    assert "ap-south-1" in recipe(JAVA | {"aws_region": "ap-south-1"})
    assert "ap-south-2" in recipe(JAVA | {"bootstrap.servers": "proxy:1"}, region="ap-south-2")


@pytest.mark.parametrize(
    ("changed", "around", "said"),
    [
        ({}, {"installed": False}, "f: sasl.mechanism: requires the package aws-msk-iam-sasl-signer-python for AWS MSK IAM, which is not installed: install requirements-msk.txt of the release"),
        ({"bootstrap.servers": "proxy:1"}, {}, "f: sasl.mechanism: requires the region of the MSK cluster, which neither bootstrap.servers (*.kafka.REGION.amazonaws.com) nor AWS_REGION nor the AWS profile names: write it under `clusters:` as aws_region, for example aws_region: eu-west-1"),
        ({"aws_region": "Ireland"}, {}, "f: aws_region: invalid AWS region 'Ireland'; write one such as eu-west-1"),
        ({"bootstrap.servers": f"{HOST},{HOST.replace('eu-west-1', 'eu-west-2')}"}, {}, "f: bootstrap.servers: has addresses in the regions eu-west-1, eu-west-2: name brokers of one cluster"),
        ({"sasl.jaas.config": f"{PACKAGE}Other required;"}, {}, f"f: sasl.jaas.config: names the login module Other, but AWS MSK IAM takes {PACKAGE}IAMLoginModule"),
        ({"sasl.jaas.config": f'{MODULE} awsRoleSecretAccessKey="hunter2secret";'}, {}, "f: sasl.jaas.config: has the option awsRoleSecretAccessKey, and credentials are not taken from here: put them into the environment or a profile that mirrorwatch can read"),
        ({"sasl.jaas.config": MODULE}, {}, "f: sasl.jaas.config: does not end with a semicolon (a slash outside quotes starts a comment and may hide it; put values in double quotes)"),
        ({"sasl.client.callback.handler.class": "org.example.Handler"}, {}, f"f: sasl.client.callback.handler.class: is not one of {PACKAGE}IAMClientCallbackHandler, IAMOAuthBearerLoginCallbackHandler, and no other Java class can be run: set the key empty under `clusters:`"),
    ],
)  # fmt: skip
def test_what_is_refused(changed, around, said):
    assert [str(problem) for problem in drafted(JAVA | changed, **around).problems] == [said]


def test_other_oauth_and_other_mechanisms_are_not_meant():
    for changed in (
        {"sasl.mechanism": "PLAIN"},
        {"sasl.mechanism": "OAUTHBEARER", "sasl.client.callback.handler.class": ""},
    ):
        assert drafted(JAVA | changed).settings == {}


def test_the_whole_translation_and_who_comes():
    settings = translate(JAVA, cluster="A", file="f").librdkafka
    assert settings["sasl.mechanism"] == "OAUTHBEARER"
    assert "sasl.oauthbearer.method" not in settings
    assert principal_of(settings) == "the AWS credentials of this process"
    named = JAVA | {"sasl.jaas.config": f'{MODULE} awsProfileName="mirror";'}
    assert principal_of(translate(named, cluster="A", file="f").librdkafka) == "the AWS profile mirror"
    assert principal_of({"sasl.oauthbearer.config": "mine"}) is None
    with pytest.raises(ConfigurationError, match=r"clusters\.A\.aws_region: invalid AWS region 'x'"):
        translate(JAVA | {"aws_region": "x"}, cluster="A", file="f")


def signed(token):
    """Return the parts of the request that a token of MSK is."""
    url = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
    assert "hunter2secret" not in url
    return urlsplit(url).hostname, {key: value[0] for key, value in parse_qs(urlsplit(url).query).items()}


def test_a_token_is_signed_without_a_network(monkeypatch):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    token, expires_at = sign_token({"region": "eu-west-1"})
    host, query = signed(token)
    assert host == "kafka.eu-west-1.amazonaws.com"
    assert query["Action"] == "kafka-cluster:Connect"
    assert query["X-Amz-Credential"].startswith("AKIAINVENTED/")
    assert "/eu-west-1/kafka-cluster/" in query["X-Amz-Credential"]
    assert 800 < expires_at - time.time() <= 900


def test_a_token_of_a_profile(tmp_path):
    (tmp_path / "credentials").write_text(
        "[mirror]\naws_access_key_id = AKIAPROFILE\naws_secret_access_key = hunter2secret\n"
    )
    token, _ = sign_token({"region": "eu-west-1", "profile": "mirror"})
    assert signed(token)[1]["X-Amz-Credential"].startswith("AKIAPROFILE/")


def failing(recipe):
    """Return the error of a client that wants a token of this recipe, as it is explained."""
    symptoms = Symptoms()
    with pytest.raises(KafkaException) as failure:
        with_tokens({"sasl.oauthbearer.config": MARK + recipe}, symptoms)
    return explain(failure.value.args[0], cluster="A", doing="making a client", symptoms=symptoms)


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        ('{"region": "eu-west-1"}', "AWS credentials were not found: set them in the environment, a profile or a role (AttributeError)"),
        ('{"region": "eu-west-1", "profile": "hunter2"}', "the AWS profile is not in the AWS configuration files (ProfileNotFound)"),
    ],
)  # fmt: skip
def test_what_is_missing_is_said_before_a_client_waits_for_it(recipe, said):
    error = failing(recipe)
    assert isinstance(error, RefusedError)
    assert str(error) == f"cluster A: making a client failed: {said}"


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (ConnectionResetError("hunter2"), UnavailableError, "AWS cannot be reached to get credentials; trying again in 10 s"),
        (ValueError("hunter2"), RefusedError, "the AWS credentials are empty (ValueError)"),
        (KeyError("hunter2"), RefusedError, "the AWS token cannot be made (KeyError)"),
    ],
)  # fmt: skip
def test_an_error_is_translated_and_nothing_of_its_text_is_kept(error, kind, said):
    heard = []

    def sign(_recipe):
        raise error

    callback = TokenCallback({}, report=heard.append, sign=sign)
    with pytest.raises(kind) as refusal:
        callback("")
    assert str(refusal.value) == said
    assert heard == [refusal.value]
    assert refusal.value.__cause__ is None


def test_a_token_that_is_late_is_taken_by_the_next_request_and_made_once():
    ready, calls, heard = threading.Event(), [], []

    def sign(recipe):
        calls.append(recipe)
        ready.wait(10.0)
        return "token", 1.0

    callback = TokenCallback({"region": "r"}, report=heard.append, sign=sign, wait_s=0.01)
    for _ in range(2):
        with pytest.raises(UnavailableError, match=r"no AWS token after 0\.01 s; trying again in 10 s"):
            callback("")
    ready.set()
    callback._wait_s = 10.0
    assert callback("") == ("token", 1.0)
    assert len(calls) == 1
    assert callback("") == ("token", 1.0)
    assert len(calls) == 2


def test_the_first_request_takes_the_token_that_was_prepared():
    calls = []
    callback = TokenCallback(
        {}, report=calls.append, sign=lambda _: (f"token {len(calls)}", calls.append("x") or 1.0)
    )
    callback.prepare()
    assert callback("") == ("token 0", 1.0)
    assert callback("") == ("token 1", 1.0)


def test_other_settings_get_no_source_of_tokens():
    assert with_tokens({"sasl.oauthbearer.config": "mine"}, Symptoms()) == {"sasl.oauthbearer.config": "mine"}
