"""Replicas that require certificates of each other."""

from __future__ import annotations

import pytest

from fleet.errors import UnavailableError
from mirrorwatch.web.replicas.certificate import OwnCertificate, presented_files
from mirrorwatch.web.replicas.forwarding import Forwarder, NotReachedError
from tests.runtime.certificates import write_pair
from tests.runtime.http.test_tls import BASIC, MUTUAL, Stage


@pytest.fixture
async def stage(tmp_path):
    stage = Stage(tmp_path)
    yield stage
    await stage.server.stop(0.1)


@pytest.fixture
def trusted(tmp_path, monkeypatch, stage):
    """Trust the CA of the server."""
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.crt"))


def files(folder, name="client"):
    return folder / f"{name}.crt", folder / f"{name}.key"


async def asked(url, presented):
    """Return the answer to a request of a replica with these files."""
    forwarder = Forwarder("left", tls=OwnCertificate(lambda: presented))
    try:
        return (await forwarder.fetch(url, "/page", part="1/2", headers={}, within_s=5.0)).body
    finally:
        await forwarder.close()


@pytest.mark.usefixtures("trusted")
async def test_a_replica_presents_its_certificate(stage, tmp_path):
    await stage.serve(f"{MUTUAL}}}")
    assert await asked(stage.server.url, files(tmp_path)) == b"fine"


@pytest.mark.usefixtures("trusted")
async def test_a_certificate_that_is_refused_is_named(stage, tmp_path):
    await stage.serve(f"{MUTUAL}}}")
    with pytest.raises(UnavailableError, match="it must accept cert_file of this one") as found:
        await asked(stage.server.url, files(tmp_path, "server"))
    assert not isinstance(found.value, NotReachedError)


async def test_an_untrusted_certificate_of_a_replica_is_named(stage):
    await stage.serve(BASIC)
    forwarder = Forwarder("left")
    with pytest.raises(UnavailableError, match="untrusted certificate: set SSL_CERT_FILE") as found:
        await forwarder.fetch(stage.server.url, "/page", part="1/2", headers={}, within_s=5.0)
    assert not isinstance(found.value, NotReachedError)
    await forwarder.close()


async def test_renewed_files_are_used_and_missing_ones_change_nothing(stage, tmp_path):
    own = OwnCertificate(lambda: files(tmp_path))
    first = own()
    assert own() is first
    write_pair(tmp_path, "client", authority=stage.clients)
    stage.date_files()
    second = own()
    assert second is not first
    for path in files(tmp_path):
        path.unlink()
    assert own() is second
    assert OwnCertificate(lambda: files(tmp_path))() is True


@pytest.mark.parametrize(
    ("text", "presents"),
    [
        (f"{MUTUAL}}}", True),
        (f"{MUTUAL}}}".replace("RequireAndVerifyClientCert", "VerifyClientCertIfGiven"), False),
        (BASIC, False),
    ],
)
async def test_a_certificate_is_presented_only_where_clients_must_have_one(stage, tmp_path, text, presents):
    settings = stage.web_config(text).tls_settings
    assert presented_files(settings, tmp_path) == (files(tmp_path, "server") if presents else None)
    assert presented_files(None, tmp_path) is None
