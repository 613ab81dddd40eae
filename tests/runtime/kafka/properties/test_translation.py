from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.errors import ConfigurationError, Problem
from runtime.kafka.properties.translation import known_keys, redacted, translate
from tests.runtime.kafka.authority import sign, trust_store

if TYPE_CHECKING:
    from runtime.kafka.properties.client_settings import ClientSettings

_CA = sign("ca", ca=True)
_CLIENT = sign("client", _CA)
_SECRET = "hunter2-geheim"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
_JAAS = f'{_SCRAM} required username="alice" password="{_SECRET}";'
_FILES = {
    "/etc/mw/ca.pem": _CA.pem.encode(),
    "/etc/mw/trust.jks": trust_store(_CA, password=_SECRET),  # the name lies; the bytes do not
    "/etc/mw/key.p12": _CLIENT.key_store(_SECRET, issuers=(_CA,)),
    "/etc/mw/key.pem": (_CLIENT.pem + _CLIENT.key_pem()).encode(),
    "/etc/mw/empty": b"",
    "/etc/ssl/certs/ca-certificates.crt": _CA.pem.encode(),
}
_SASL = {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": _JAAS}
_TOKEN = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.token.endpoint.url": "https://idp/token",
}


def _read(path: str) -> bytes:
    if path == "/etc/mw/secret":
        raise PermissionError(13, "Permission denied")
    if path == "/etc/mw/folder":
        raise IsADirectoryError(21, "Is a directory")
    if path not in _FILES:
        raise FileNotFoundError(2, "No such file or directory")
    return _FILES[path]


def _translate(properties: dict[str, str], *, everybody: bool = False) -> ClientSettings:
    return translate(
        {"bootstrap.servers": "a1:9092"} | properties,
        cluster="A",
        file="/etc/mw/config.yml",
        read_bytes=_read,
        readable_by_everybody=lambda _: everybody,
    )


def _problems(properties: dict[str, str]) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        _translate(properties)
    assert _SECRET not in str(caught.value)
    assert all(problem.file == "/etc/mw/config.yml" for problem in caught.value.problems)
    return [f"{problem.key}: {problem.sentence}" for problem in caught.value.problems]


TRANSLATED = [
    (
        {},
        {"bootstrap.servers": "a1:9092", "security.protocol": "plaintext", "enable.metrics.push": "false"},
    ),
    ({"enable.metrics.push": "true"}, {"enable.metrics.push": "true"}),
    (
        {"bootstrap.servers": " a1:9092, PLAINTEXT://[::1]:9093 ,"},
        {"bootstrap.servers": "a1:9092,[::1]:9093"},
    ),
    (
        {"bootstrap.servers": "::1:9092, SSL://fe80::1%eth0:9093, [2001:db8::1]:9094"},
        {"bootstrap.servers": "[::1]:9092,[fe80::1%eth0]:9093,[2001:db8::1]:9094"},
    ),
    ({"metadata.broker.list": "own:1"}, {"bootstrap.servers": "own:1"}),
    (_SASL, {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "alice", "sasl.password": _SECRET}),
    (_SASL | {"sasl.mechanism": "scram-sha-256"}, {"sasl.mechanism": "SCRAM-SHA-256"}),
    (
        _SASL | {"sasl.mechanism": "PLAIN", "sasl.jaas.config": f"{_PLAIN} required username=a password=b;"},
        {"sasl.mechanism": "PLAIN", "sasl.username": "a", "sasl.password": "b"},
    ),
    # librdkafka's spelling goes before the Java one that mm2.properties holds.
    (
        _SASL | {"sasl.username": "own", "sasl.password": " x "},
        {"sasl.username": "own", "sasl.password": " x "},
    ),
    (
        _SASL | {"sasl.mechanisms": "PLAIN", "sasl.username": "o", "sasl.password": "x"},
        {"sasl.mechanism": "PLAIN"},
    ),
    ({"security.protocol": "ssl"}, {"security.protocol": "ssl", "ssl.ca.location": "probe"}),
    ({"security.protocol": "SSL"}, {"ssl.endpoint.identification.algorithm": "https"}),
    (
        {"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": ""},
        {"ssl.endpoint.identification.algorithm": "none"},
    ),
    ({"security.protocol": "SSL", "ssl.truststore.location": "ca.pem"}, {"ssl.ca.pem": _CA.pem}),
    (
        {
            "security.protocol": "SSL",
            "ssl.truststore.location": "/etc/mw/trust.jks",
            "ssl.truststore.type": "JKS",
            "ssl.truststore.password": _SECRET,
        },
        {"ssl.ca.pem": _CA.pem},
    ),
    ({"security.protocol": "SSL", "ssl.truststore.certificates": _CA.pem}, {"ssl.ca.pem": _CA.pem}),
    ({"security.protocol": "SSL", "ssl.ca.location": "ca.pem"}, {"ssl.ca.location": "/etc/mw/ca.pem"}),
    ({"security.protocol": "SSL", "ssl.ca.location": "folder"}, {"ssl.ca.location": "/etc/mw/folder"}),
    (
        {"security.protocol": "SSL", "ssl.keystore.location": "key.p12", "ssl.keystore.password": _SECRET},
        {"ssl.certificate.pem": _CLIENT.pem + _CA.pem, "ssl.key.pem": _CLIENT.key_pem()},
    ),
    (
        {"security.protocol": "SSL", "ssl.keystore.location": "key.pem", "ssl.keystore.type": "PEM"},
        {"ssl.certificate.pem": _CLIENT.pem, "ssl.key.pem": _CLIENT.key_pem()},
    ),
    (
        {
            "security.protocol": "SSL",
            "ssl.keystore.certificate.chain": _CLIENT.pem,
            "ssl.keystore.key": _CLIENT.key_pem(_SECRET),
            "ssl.key.password": _SECRET,
        },
        {"ssl.certificate.pem": _CLIENT.pem, "ssl.key.pem": _CLIENT.key_pem()},
    ),
    (
        {"security.protocol": "SSL", "ssl.certificate.location": "key.pem", "ssl.key.location": "key.pem"},
        {"ssl.certificate.pem": _CLIENT.pem, "ssl.key.pem": _CLIENT.key_pem()},
    ),
    (
        {
            "security.protocol": "SSL",
            "ssl.cipher.suites": "TLS_AES_256_GCM_SHA384, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        },
        {"ssl.cipher.suites": "ECDHE-RSA-AES128-GCM-SHA256"},
    ),
    (
        _TOKEN
        | {
            "sasl.jaas.config": f"{_OAUTH} required clientId='c' clientSecret='{_SECRET}' scope='s' extension_x='1';"
        },
        {
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.id": "c",
            "sasl.oauthbearer.client.secret": _SECRET,
            "sasl.oauthbearer.scope": "s",
            "sasl.oauthbearer.extensions": "x=1",
            "https.ca.location": "/etc/ssl/certs/ca-certificates.crt",
        },
    ),
    (
        _TOKEN
        | {
            "sasl.jaas.config": f"{_OAUTH} required clientId=old clientSecret=old ssl.truststore.location='ca.pem';",
            "sasl.oauthbearer.client.credentials.client.id": "new",
            "sasl.oauthbearer.client.credentials.client.secret": _SECRET,
            "sasl.login.callback.handler.class": "org.apache.kafka.common.security.oauthbearer.secured"
            ".OAuthBearerLoginCallbackHandler",
        },
        {"sasl.oauthbearer.client.id": "new", "https.ca.pem": _CA.pem},
    ),
    (
        _TOKEN
        | {
            "sasl.oauthbearer.jwt.retriever.class": "org.apache.kafka.common.security.oauthbearer.JwtBearerJwtRetriever",
            "sasl.oauthbearer.assertion.private.key.file": "key.pem",
            "sasl.oauthbearer.assertion.claim.iss": "me",
        },
        {
            "sasl.oauthbearer.grant.type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
            "sasl.oauthbearer.assertion.private.key.file": "/etc/mw/key.pem",
            "sasl.oauthbearer.assertion.claim.iss": "me",
        },
    ),
    (
        {"send.buffer.bytes": "-1", "receive.buffer.bytes": "7"},
        {"socket.send.buffer.bytes": "0", "socket.receive.buffer.bytes": "7"},
    ),
    ({"send.buffer.bytes": "5", "socket.send.buffer.bytes": "6"}, {"socket.send.buffer.bytes": "6"}),
    (
        {"enable.metrics.push": "FALSE", "client.rack": "r1"},
        {"enable.metrics.push": "false", "client.rack": "r1"},
    ),
]


@pytest.mark.parametrize(("given_properties", "expected"), TRANSLATED)
def test_translates(given_properties, expected):
    settings = _translate(given_properties).librdkafka
    assert {key: settings.get(key) for key in expected} == expected


REFUSED = [
    ({"bootstrap.servers": ""}, "clusters.A.bootstrap.servers: missing"),
    ({"bootstrap.servers": " , "}, "clusters.A.bootstrap.servers: missing"),
    ({"bootstrap.servers": "a1"}, "invalid broker address 'a1'"),
    ({"bootstrap.servers": "a1:1 b1:1"}, "invalid broker address 'a1:1 b1:1'; separate addresses by commas"),
    ({"bootstrap.servers": "a1:1;b1:1"}, "invalid broker address 'a1:1;b1:1'; separate addresses by commas"),
    ({"bootstrap.servers": "X://a1:1;X://b1:1"}, "separate addresses by commas"),
    *(
        ({"bootstrap.servers": f"a1:{port}"}, f"invalid port in 'a1:{port}'")
        for port in ("0", "99999", "999999", "9" * 5000)
    ),
    (
        {"securty.protocol": "SSL"},
        "clusters.A.securty.protocol: unknown client property; did you mean 'security.protocol'?",
    ),
    ({"zzz": "1"}, "neither the Java clients nor librdkafka"),
    ({"security.protocol": "TLS"}, "must be one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL, not 'TLS'"),
    ({"security.protocol": "SASL_SSL"}, "sasl.mechanism: missing, and Java's default, GSSAPI"),
    (
        _SASL | {"sasl.mechanism": "GSSAPI"},
        "GSSAPI (Kerberos) is not supported; give mirrorwatch a principal",
    ),
    (
        _SASL | {"sasl.mechanism": "AWS_MSK_IAM"},
        "but AWS MSK IAM takes software.amazon.msk.auth.iam.IAMLoginModule",
    ),
    (_SASL | {"sasl.mechanism": "NTLM"}, "'NTLM' requires a Java class"),
    (_SASL | {"sasl.jaas.config": ""}, "sasl.jaas.config: missing"),
    (_SASL | {"sasl.jaas.config": _JAAS[:-1]}, "does not end with a semicolon"),
    (_SASL | {"sasl.jaas.config": f"{_SCRAM} required username=a;"}, "missing option password"),
    (
        _SASL | {"sasl.jaas.config": f"{_PLAIN} required username=a password=b;"},
        "SCRAM-SHA-512 requires the login module ScramLoginModule",
    ),
    (
        _SASL | {"sasl.jaas.config": f"{_SCRAM} required username=a password=b tokenauth=true;"},
        "delegation token",
    ),
    (_SASL | {"sasl.username": "own"}, "clusters.A.sasl.password: missing"),
    (
        _SASL | {"sasl.client.callback.handler.class": "com.acme.X"},
        "Java classes are not supported",
    ),
    (_SASL | {"sasl.login.class": "com.acme.X"}, "sasl.login.class: is refused: it names a Java class"),
    (_TOKEN, "sasl.oauthbearer.client.id: is missing"),
    (_TOKEN | {"sasl.oauthbearer.token.endpoint.url": "file:///t"}, "is not an http or https address"),
    (_TOKEN | {"sasl.login.callback.handler.class": "io.strimzi.X"}, "set it empty under `clusters:`"),
    (_TOKEN | {"sasl.oauthbearer.jwt.retriever.class": "a.FileJwtRetriever"}, "names a Java class"),
    (_TOKEN | {"sasl.oauthbearer.token.endpoint.url": ""}, "token.endpoint.url: is missing"),
    (_TOKEN | {"sasl.jaas.config": _JAAS}, "but OAUTHBEARER takes OAuthBearerLoginModule"),
    (
        _TOKEN
        | {
            "sasl.oauthbearer.client.id": "a:b",
            "sasl.oauthbearer.client.secret": "c",
            "sasl.oauthbearer.header.urlencode": "true",
        },
        "librdkafka sends the client's id and secret as they are",
    ),
    (
        {"security.protocol": "SSL", "ssl.truststore.location": "none.pem"},
        "file '/etc/mw/none.pem' does not exist",
    ),
    (
        {"security.protocol": "SSL", "ssl.truststore.location": "secret"},
        "cannot be read; grant the user of mirrorwatch permission",
    ),
    ({"security.protocol": "SSL", "ssl.truststore.location": "folder"}, "is a directory; name a file"),
    ({"security.protocol": "SSL", "ssl.truststore.location": "empty"}, "is empty"),
    ({"security.protocol": "SSL", "ssl.truststore.location": "trust.jks"}, "is protected by a password"),
    (
        {
            "security.protocol": "SSL",
            "ssl.truststore.location": "ca.pem",
            "ssl.truststore.certificates": _CA.pem,
        },
        "are both set: keep one",
    ),
    ({"security.protocol": "SSL", "ssl.keystore.type": "PKCS11"}, "the store of a Java provider"),
    (
        {"security.protocol": "SSL", "ssl.keystore.key": _CLIENT.key_pem()},
        "ssl.keystore.certificate.chain: is missing",
    ),
    (
        {
            "security.protocol": "SSL",
            "ssl.keystore.key": _CA.key_pem(),
            "ssl.keystore.certificate.chain": _CLIENT.pem,
        },
        "does not belong to the private key",
    ),
    (
        {"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "ldaps"},
        "must be https, or empty",
    ),
    (
        {"security.protocol": "SSL", "ssl.enabled.protocols": "TLSv1.1,TLSv1"},
        "only TLSv1.2 and TLSv1.3 are offered",
    ),
    ({"security.protocol": "SSL", "ssl.cipher.suites": "TLS_NO_SUCH"}, "is not translated"),
    ({"ssl.engine.factory.class": "com.acme.X"}, "is refused: it names a Java class"),
    ({"security.providers": "com.acme.X"}, "is refused: Java security providers"),
    ({"plugin.library.paths": "/opt/x.so"}, "loads no foreign code"),
    ({"error_cb": "x"}, "has no value in a file"),
    ({"bootstrap.controllers": "c:1"}, "name them in bootstrap.servers"),
    ({"reconnect.backoff.ms": "soon"}, "must be a whole number, not 'soon'"),
    ({"retry.backoff.ms": "0"}, "must be 1 to 300000, not 0"),
    ({"metadata.recovery.strategy": "pray"}, "must be one of none, rebootstrap"),
]


@pytest.mark.parametrize(("given_properties", "said"), REFUSED)
def test_refuses_with_a_sentence(given_properties, said):
    assert any(said in problem for problem in _problems(given_properties)), _problems(given_properties)


def test_tells_every_problem_at_once():
    problems = _problems(
        {
            "bootstrap.servers": "",
            "acsk": "all",
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "GSSAPI",
            "ssl.truststore.location": "none.pem",
            "ssl.keystore.location": "none.p12",
        }
    )
    assert len(problems) == 5, problems


def test_a_broken_jaas_line_is_one_problem():
    (problem,) = _problems(_TOKEN | {"sasl.jaas.config": f"{_OAUTH} required clientId=c"})
    assert "does not end with a semicolon" in problem


def test_a_key_is_named_as_the_user_wrote_it():
    with pytest.raises(ConfigurationError) as caught:
        translate(
            {"bootstrap.servers": "x", "acsk": "1"},
            cluster="A",
            file="a.yml",
            locate=lambda key: (
                ("mm2.properties", f"A.{key}") if key == "acsk" else ("a.yml", f"clusters.A.{key}")
            ),
        )
    assert [(problem.file, problem.key) for problem in caught.value.problems] == [
        ("mm2.properties", "A.acsk"),
        ("a.yml", "clusters.A.bootstrap.servers"),
    ]


NOTED = [
    ({"acks": "all"}, "clusters.A.acks: is ignored: the canary sets its own"),
    ({"sasl.jaas.config": _JAAS}, "has no effect while security.protocol is PLAINTEXT"),
    (_SASL | {"sasl.username": "o", "sasl.password": "x"}, "sasl.jaas.config: is not used"),
    (
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "o",
            "sasl.password": "x",
        },
        "the password crosses the network unencrypted",
    ),
    (
        {"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": " "},
        "is not checked against its certificate",
    ),
    (
        {"security.protocol": "SSL", "enable.ssl.certificate.verification": "false"},
        "impersonate the cluster",
    ),
    (
        {"security.protocol": "SSL", "ssl.enabled.protocols": "TLSv1.3"},
        "are both offered: the broker decides",
    ),
    (
        {"security.protocol": "SSL", "ssl.ca.pem": _CA.pem, "ssl.truststore.location": "x"},
        "is not used: ssl.ca.pem",
    ),
    *(
        ({"security.protocol": "SSL", key: _CLIENT.pem}, f"{key}: has 'CN=client' without the issuer: Java")
        for key in ("ssl.ca.pem", "ssl.truststore.certificates")
    ),
]


@pytest.mark.parametrize(("given_properties", "said"), NOTED)
def test_notes_what_a_user_should_know(given_properties, said):
    notes = _translate(given_properties).notes
    assert any(said in note for note in notes), notes
    assert _SECRET not in "\n".join(notes)


def test_notes_a_key_file_that_everybody_may_read():
    properties = {
        "security.protocol": "SSL",
        "ssl.keystore.location": "key.pem",
        "ssl.truststore.location": "ca.pem",
    }
    (note,) = _translate(properties, everybody=True).notes
    assert "every user of this host can read '/etc/mw/key.pem'" in note
    assert _translate(properties).notes == ()


def test_an_empty_value_takes_a_key_back():
    properties = _SASL | {"sasl.login.class": "", "ssl.truststore.location": "", "acks": " "}
    settings = _translate(properties)
    assert settings.librdkafka["ssl.ca.location"] == "probe"
    assert settings.notes == ()


def test_repr_and_redacted_show_no_secret():
    properties = _SASL | {
        "ssl.keystore.certificate.chain": _CLIENT.pem,
        "ssl.keystore.key": _CLIENT.key_pem(_SECRET),
        "ssl.key.password": _SECRET,
    }
    settings = _translate(properties)
    for text in (
        repr(settings),
        str(settings),
        str(redacted(properties)),
        str(redacted(settings.librdkafka)),
    ):
        assert _SECRET not in text
        assert "PRIVATE KEY" not in text
        assert "alice" in text or "sasl.jaas.config" in text
    assert settings.librdkafka["sasl.password"] == _SECRET


@pytest.mark.parametrize(
    "key",
    [
        "sasl.jaas.config",
        "A.sasl.jaas.config",
        "A->B.producer.ssl.keystore.password",
        "ssl.key.password",
        "ssl.truststore.password",
        "ssl.keystore.key",
        "ssl.key.pem",
        "sasl.password",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.config",
        "my.own.secret",
    ],
)
def test_secret_keys_are_hidden_under_any_prefix(key):
    assert redacted({key: _SECRET}) == {key: "[hidden]"}


@pytest.mark.parametrize(
    "key",
    [
        "sasl.oauthbearer.client.credentials.client.id",
        "bootstrap.servers",
        "ssl.key.location",
        "sasl.username",
    ],
)
def test_other_keys_are_shown(key):
    assert redacted({key: "x"}) == {key: "x"}


def test_user_information_in_an_address_is_hidden():
    assert redacted({"u": f"https://me:{_SECRET}@idp/t"}) == {"u": "https://[hidden]@idp/t"}


@given(st.dictionaries(st.sampled_from(sorted(known_keys())), st.text(max_size=12), max_size=8))
def test_any_values_give_settings_or_sentences(properties):
    problems: list[Problem] = []
    settings: dict[str, str] = {}
    try:
        settings = dict(_translate(properties).librdkafka)
    except ConfigurationError as error:
        problems = error.problems
    assert bool(problems) != bool(settings)
    assert all(problem.sentence and problem.key.startswith("clusters.A.") for problem in problems)
    assert all(isinstance(value, str) for value in settings.values())


@pytest.mark.parametrize(
    ("protocol", "loaded"), [("PLAINTEXT", "False"), ("SASL_PLAINTEXT", "False"), ("SSL", "True")]
)
def test_what_reads_certificates_is_loaded_by_who_has_tls_only(protocol, loaded):
    sasl = {"sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": _JAAS} if "SASL" in protocol else {}
    properties = {"bootstrap.servers": "a1:9092", "security.protocol": protocol} | sasl
    code = (
        "import sys, mirrorwatch.service.service; from runtime.kafka.properties.translation import translate;"
        f"translate({properties!r}, cluster='A', file='c'); print('cryptography' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout.split() == [loaded]
