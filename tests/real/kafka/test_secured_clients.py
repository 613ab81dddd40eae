"""Java client properties, translated, against real brokers with TLS, SCRAM-SHA-512 and an authorizer."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

from deploy.local.broker import Broker
from deploy.local.security import Security
from fleet.errors import RefusedError, UnavailableError
from runtime.kafka.failures import Symptoms, explain, listening_logger
from runtime.kafka.properties import stores
from runtime.kafka.properties.translation import translate
from tests.eventually import eventually
from tests.runtime.kafka.authority import sign, trust_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fleet.errors import MirrorwatchError

pytestmark = pytest.mark.real

_GOLDEN = Path(__file__).parents[2] / "runtime" / "kafka" / "golden"
_ROOT = sign("clients root", ca=True)
_MIDDLE = sign("clients middle", _ROOT, ca=True)
_CLIENT = sign("mirrorwatch", _MIDDLE)
_PASSWORD = "störe pass"


class _Cluster:
    """An admin client of one cluster, made as the product makes its clients."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.symptoms = Symptoms()
        settings = translate(properties, cluster="S", file="test.yml")
        self.settings = dict(settings.librdkafka) | {"error_cb": self.symptoms.hear_error}
        self.logger = listening_logger(self.symptoms)
        self.admin = AdminClient(self.settings, logger=self.logger)

    def topics(self) -> set[str]:
        return set(self.admin.list_topics(timeout=10.0).topics)

    def failure(
        self, call: Callable[[], object], doing: str = "reading the list of topics"
    ) -> MirrorwatchError:
        """Return how a call that has to fail is explained, once the reason has been heard."""
        with pytest.raises(KafkaException) as caught:
            call()
        self.admin.poll(0.2)  # the reason may still be on its way
        return explain(caught.value.args[0], cluster="S", doing=doing, symptoms=self.symptoms)

    def unreachable(self) -> MirrorwatchError:
        eventually(self._reason_heard, 10.0, what="a reason why the connection fails")
        return self.failure(lambda: self.admin.list_topics(timeout=0.5))

    def _reason_heard(self) -> bool:
        self.admin.poll(0.05)
        return self.symptoms.found is not None and self.symptoms.found.weight > 1


@pytest.fixture(scope="module")
def mutual_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Start a broker that asks every client for a certificate below `_ROOT`."""
    folder = tmp_path_factory.mktemp("mutual")
    (folder / "clients.pem").write_text(_ROOT.pem, encoding="utf-8")
    listener = "listener.name.sasl_ssl."
    properties = {
        f"{listener}ssl.client.auth": "required",
        f"{listener}ssl.truststore.type": "PEM",
        f"{listener}ssl.truststore.location": str(folder / "clients.pem"),
    }
    security = Security(users={"admin": "a"}, super_users=("admin",))
    broker = Broker("M", folder / "broker", security=security, properties=properties)
    try:
        broker.start()
        eventually(lambda: broker.running and "Kafka Server started" in broker.logged(), 30.0)
        yield broker
    finally:
        broker.kill()


def test_pem_trust_store_and_scram_from_the_jaas_line(secure_broker, topic_name):
    cluster = _Cluster(secure_broker.java_properties())
    name = topic_name()
    cluster.admin.create_topics([NewTopic(name, 1, 1)])[name].result(timeout=10.0)
    eventually(lambda: name in cluster.topics(), 10.0)


def test_pkcs12_trust_store_whatever_its_name(secure_broker, tmp_path):
    authority = x509.load_pem_x509_certificate(secure_broker.certificates.authority.read_bytes())
    path = tmp_path / "truststore.jks"
    path.write_bytes(
        pkcs12.serialize_key_and_certificates(
            b"ca", None, None, [authority], BestAvailableEncryption(_PASSWORD.encode())
        )
    )
    properties = secure_broker.java_properties() | {
        "ssl.truststore.type": "JKS",
        "ssl.truststore.location": str(path),
        "ssl.truststore.password": _PASSWORD,
    }
    assert _Cluster(properties).topics() is not None


def test_librdkafkas_spelling_goes_before_javas(secure_broker):
    properties = secure_broker.java_properties("stranger") | secure_broker.client_properties("admin")
    cluster = _Cluster(properties)
    cluster.topics()
    assert cluster.settings["sasl.username"] == "admin"


@pytest.mark.parametrize("user", ["admin", "watcher"])
def test_passwords_with_quotes_backslashes_and_umlauts(secure_broker, user):
    _Cluster(secure_broker.java_properties(user)).topics()


def test_wrong_password(secure_broker):
    properties = secure_broker.client_properties() | {"sasl.password": "geheim-und-falsch"}
    error = _Cluster(properties).unreachable()
    assert isinstance(error, RefusedError)
    assert "does not accept the credentials" in str(error)
    assert f"cluster S at {secure_broker.bootstrap}" in str(error)
    assert "geheim" not in str(error)


def test_wrong_mechanism(secure_broker):
    error = _Cluster(secure_broker.client_properties() | {"sasl.mechanism": "PLAIN"}).unreachable()
    assert isinstance(error, RefusedError)
    assert "set sasl.mechanism to one it speaks" in str(error)
    assert "SCRAM-SHA-512" in str(error)


def test_wrong_authority(secure_broker, tmp_path):
    (tmp_path / "other.p12").write_bytes(trust_store(_ROOT))
    properties = secure_broker.java_properties() | {"ssl.truststore.location": str(tmp_path / "other.p12")}
    error = _Cluster(properties).unreachable()
    assert isinstance(error, RefusedError)
    assert "the broker's certificate is not trusted" in str(error)


def test_the_systems_authorities_do_not_know_a_private_one(secure_broker):
    properties = secure_broker.java_properties() | {"ssl.truststore.location": ""}
    error = _Cluster(properties).unreachable()
    assert isinstance(error, RefusedError)
    assert "the broker's certificate is not trusted" in str(error)


def test_host_name_mismatch_and_switching_the_check_off(secure_broker):
    # 127.1 is the same address by another name, for which the certificate is not made out.
    properties = secure_broker.java_properties() | {"bootstrap.servers": f"127.1:{secure_broker.port}"}
    error = _Cluster(properties).unreachable()
    assert isinstance(error, RefusedError)
    assert "it does not name the host in bootstrap.servers" in str(error)
    _Cluster(properties | {"ssl.endpoint.identification.algorithm": ""}).topics()


def test_plaintext_client_at_a_tls_port(secure_broker):
    error = _Cluster({"bootstrap.servers": secure_broker.bootstrap}).unreachable()
    assert isinstance(error, UnavailableError)
    assert "compare security.protocol with what this port of the cluster speaks" in str(error)


def test_tls_client_at_a_plaintext_port(secure_broker, kafka_pair):
    properties = secure_broker.java_properties() | {"bootstrap.servers": kafka_pair.a.bootstrap}
    error = _Cluster(properties).unreachable()
    assert isinstance(error, UnavailableError)
    assert "the port does not speak TLS" in str(error)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_sasl_client_at_a_port_without_sasl(kafka_pair, mechanism):
    properties = {
        "bootstrap.servers": kafka_pair.a.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": "admin",
        "sasl.password": "geheim",
    }
    error = _Cluster(properties).unreachable()
    assert isinstance(error, UnavailableError)
    assert "the port does not speak SASL: compare security.protocol with what this port" in str(error)
    assert "credentials" not in str(error)


def test_missing_rights_name_what_is_missing(secure_broker, topic_name):
    stranger = _Cluster(secure_broker.java_properties("stranger"))
    name = topic_name()
    error = stranger.failure(
        lambda: stranger.admin.create_topics([NewTopic(name, 1, 1)])[name].result(timeout=10.0),
        f"creating {name}",
    )
    assert isinstance(error, RefusedError)
    assert f"cluster S: creating {name} failed: the principal may not do this with the topic" in str(error)

    admin = _Cluster(secure_broker.java_properties())
    admin.admin.create_topics([NewTopic(name, 1, 1)])[name].result(timeout=10.0)
    outcomes: list[MirrorwatchError] = []
    producer = Producer(stranger.settings, logger=stranger.logger)
    producer.produce(
        name,
        b"x",
        on_delivery=lambda failed, _: outcomes.append(explain(failed, cluster="S", doing="writing")),
    )
    producer.flush(10.0)
    assert [type(outcome) for outcome in outcomes] == [RefusedError]
    assert "check --acls" in str(outcomes[0])


def test_what_a_cluster_cannot_do_is_refused_in_its_own_words(secure_broker, topic_name):
    cluster = _Cluster(secure_broker.java_properties())
    name = topic_name()
    error = cluster.failure(
        lambda: cluster.admin.create_topics([NewTopic(name, 1, 3)])[name].result(timeout=10.0),
        f"creating {name}",
    )
    assert isinstance(error, RefusedError)
    assert "too few brokers for this replication factor" in str(error)
    assert "only 1 broker(s) are registered" in str(error)


@pytest.mark.parametrize("form", ["pkcs12", "pem"])
def test_client_certificate_with_its_chain(mutual_broker, tmp_path, form):
    path = tmp_path / "client.store"
    path.touch(mode=0o600)
    if form == "pkcs12":
        path.write_bytes(_CLIENT.key_store(_PASSWORD, issuers=(_MIDDLE,)))
        extra = {"ssl.keystore.password": _PASSWORD}
    else:
        path.write_text(_CLIENT.key_pem(_PASSWORD) + _CLIENT.pem + _MIDDLE.pem, encoding="utf-8")
        extra = {"ssl.keystore.type": "PEM", "ssl.key.password": _PASSWORD}
    properties = mutual_broker.java_properties() | {"ssl.keystore.location": str(path)} | extra
    _Cluster(properties).topics()


def test_missing_client_certificate(mutual_broker):
    error = _Cluster(mutual_broker.java_properties()).unreachable()
    assert isinstance(error, RefusedError)
    assert "ssl.keystore.location" in str(error)


def test_client_certificate_of_another_authority(mutual_broker, tmp_path):
    path = tmp_path / "client.p12"
    path.touch(mode=0o600)
    path.write_bytes(sign("stranger", sign("other root", ca=True)).key_store(_PASSWORD))
    properties = mutual_broker.java_properties() | {
        "ssl.keystore.location": str(path),
        "ssl.keystore.password": _PASSWORD,
    }
    error = _Cluster(properties).unreachable()
    assert isinstance(error, RefusedError)
    assert "does not accept the client certificate" in str(error)


@pytest.mark.parametrize("name", ["keystore.jks", "keystore.jceks"])
def test_the_keytool_line_that_is_told_converts_the_store(tmp_path, name):
    path = tmp_path / f"it's a {name}"
    path.write_bytes((_GOLDEN / name).read_bytes())
    with pytest.raises(stores.StoreError) as caught:
        _identity(path)
    line = str(caught.value).split("`")[1]
    passwords = "changeit\n" * 3  # keytool asks for the new one twice, then for the old one
    subprocess.run(shlex.split(line), input=passwords, text=True, capture_output=True, check=True, timeout=60)
    assert stores.belongs_together(_identity(path.with_suffix(".p12")))


def _identity(path: Path) -> stores.Identity:
    return stores.identity_pem(
        path.read_bytes(),
        path=str(path),
        store_password="changeit",
        key_password=None,
        password_key="the password",
    )
