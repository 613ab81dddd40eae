"""The web configuration: golden refusals, and what a good one gives."""

from __future__ import annotations

import ssl
import subprocess

import bcrypt
import pytest

from fleet.errors import ConfigurationError
from runtime.config.web import load_web_config
from tests.runtime.certificates import write_pair

HASH = bcrypt.hashpw(b"pw", bcrypt.gensalt(4)).decode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("web")
    write_pair(folder, "ca")
    write_pair(folder, "other")
    write_pair(folder, "locked", password=b"x")
    (folder / "text").write_text("no certificate")
    return folder


def refused(folder, text):
    path = folder / "web.yml"
    path.write_text(text)
    with pytest.raises(ConfigurationError) as error:
        load_web_config(path)
    return str(error.value).replace(str(folder) + "/", "")


def test_a_full_file(folder):
    (folder / "web.yml").write_text(f"""
tls_server_config:
  cert_file: ca.crt
  key_file: ca.key
  client_ca_file: ca.crt
  client_auth_type: RequireAndVerifyClientCert
  min_version: TLS13
http_server_config: {{http2: false}}
basic_auth_users: {{prometheus: {HASH}}}
""")
    found = load_web_config(folder / "web.yml")
    assert found.users == {"prometheus": HASH.encode()}
    assert found.tls.verify_mode is ssl.CERT_REQUIRED
    assert found.tls.minimum_version is ssl.TLSVersion.TLSv1_3
    assert HASH not in repr(found.tls)


CASES = [
    ("tls_server_config: {cert_file: none, key_file: nor, client_ca_file: text, client_auth_type: VerifyClientCertIfGiven}",
     (
         "web.yml:1: tls_server_config.cert_file: none: cannot be read (no such file or directory); check"
         " the path and its permissions\nweb.yml:1: tls_server_config.key_file: nor: cannot be read (no"
         " such file or directory); check the path and its permissions"
     )),
    ("tls_server_config: {cert_file: ca.crt, key_file: other.key}",
     "web.yml:1: tls_server_config.cert_file: does not match key_file; name the certificate of that key"),
    ("tls_server_config: {cert_file: text, key_file: ca.key}",
     ("web.yml:1: tls_server_config.cert_file: must be a PEM certificate, and key_file its unencrypted PEM"
     " key")),
    ("tls_server_config: {cert_file: locked.crt, key_file: locked.key}",
     ("web.yml:1: tls_server_config.cert_file: must be a PEM certificate, and key_file its unencrypted PEM"
     " key")),
    ("tls_server_config: {cert_file: ca.crt, key_file: ca.key, client_ca_file: text, client_auth_type: RequireAndVerifyClientCert}",
     "web.yml:1: tls_server_config.client_ca_file: text: must be CA certificates in PEM"),
    ("tls_server_config: {cert_file: ca.crt, key_file: ca.key, client_auth_type: RequireAndVerifyClientCert}",
     ("web.yml:1: tls_server_config.client_ca_file: missing; RequireAndVerifyClientCert requires it to"
     " verify client certificates")),
    ("tls_server_config: {cert_file: ca.crt, key_file: ca.key, client_ca_file: ca.crt, client_auth_type: NoClientCert}",
     ("web.yml:1: tls_server_config.client_auth_type: client_ca_file has no effect with NoClientCert; write"
     " RequireAndVerifyClientCert, or remove client_ca_file")),
    ("tls_server_config: {cert_file: ca.crt, key_file: ca.key, client_ca_file: ca.crt}",
     ("web.yml:1: tls_server_config.client_auth_type: client_ca_file has no effect with NoClientCert; write"
     " RequireAndVerifyClientCert, or remove client_ca_file")),
    ("tls_server_config: {cert_file: ca.crt, key_file: ca.key, client_auth_type: RequestClientCert}",
     ("web.yml:1: tls_server_config.client_auth_type: RequestClientCert is not supported, because it"
     " verifies no certificate; write RequireAndVerifyClientCert")),
    ("tls_server_config: {cert_file: ca.crt, key_file: ca.key, min_version: TLS10, cipher_suites: [x]}",
     (
         "web.yml:1: tls_server_config.min_version: TLS10 is insecure and not supported; write TLS12 or"
         " TLS13\nweb.yml:1: tls_server_config.cipher_suites: unknown key; valid keys: cert_file,"
         " client_allowed_sans, client_auth_type, client_ca_file, key_file, max_version, min_version"
     )),
    ("tls_server_config: {cert_file: ca.crt, key_file: ca.key, min_version: TLS13, max_version: TLS12}",
     "web.yml:1: tls_server_config.max_version: must not be lower than min_version"),
    (("tls_server_config: {cert_file: ca.crt, key_file: ca.key, client_ca_file: ca.crt, client_auth_type:"
      " VerifyClientCertIfGiven, client_allowed_sans: [x]}"),
     ("web.yml:1: tls_server_config.client_allowed_sans: has no effect on clients without a certificate,"
     " which VerifyClientCertIfGiven accepts; write client_auth_type: RequireAndVerifyClientCert")),
    (("tls_server_config: {cert_file: ca.crt, key_file: ca.key, client_ca_file: ca.crt, client_auth_type:"
      " RequireAndVerifyClientCert, client_allowed_sans: []}"),
     "web.yml:1: tls_server_config.client_allowed_sans: must not be empty; write names, or remove the key"),
    (("tls_server_config: {cert_file: ca.crt, key_file: ca.key, client_ca_file: ca.crt, client_auth_type:"
      " RequireAndVerifyClientCert, client_allowed_sans: ['']}"),
     ("web.yml:1: tls_server_config.client_allowed_sans.0: must not be empty; write a DNS name, e-mail"
     " address, IP address or URI")),
    ("tls_server_config: {key_file: ca.key}", (
        "web.yml:1: tls_server_config.cert_file: missing; this key is required"
    )),
    ("basic_auth_users:\n  a: HUSHHUSH\n  b: x\n",
     (
         "web.yml:2: basic_auth_users.a: invalid bcrypt hash ($2b$...); create one with 'htpasswd -nBC 10"
         " \"\"'\nweb.yml:3: basic_auth_users.b: invalid bcrypt hash ($2b$...); create one with 'htpasswd"
         " -nBC 10 \"\"'"
     )),
    ("basic_auth_users:\n  a: " + HASH.replace("$04$", "$17$"), (
        "web.yml:2: basic_auth_users.a: bcrypt cost must be 4 to 16; use 10 to 12"
    )),
    ("basic_auth_users:\n  a: " + HASH[:28] + "a" + HASH[29:], (
        "web.yml:2: basic_auth_users.a: invalid bcrypt hash ($2b$...); create one with 'htpasswd -nBC 10"
        " \"\"'"
    )),
    ("basic_auth_users: {'a:b': " + HASH + "}", (
        "web.yml:1: basic_auth_users.a:b: invalid user name; it must not be empty or contain a colon"
    )),
    ("http_server_config: {http2: true}", (
        "web.yml: no TLS and no users; add tls_server_config or basic_auth_users"
    )),
    ("basic_auth_user: {}", "web.yml:1: basic_auth_user: unknown key; did you mean 'basic_auth_users'?"),
    ("", "web.yml: file is empty; add keys"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "sentence"), CASES, ids=range(len(CASES)))
def test_refusals(folder, text, sentence):
    assert refused(folder, text) == sentence


GOOD = [
    f"""
tls_server_config: {{cert_file: ca.crt, key_file: ca.key, client_ca_file: ca.crt, client_auth_type: {kind},
  min_version: {version}}}
basic_auth_users: {{prometheus: {HASH}}}
"""
    for kind in ("VerifyClientCertIfGiven", "RequireAndVerifyClientCert")
    for version in ("TLS12", "TLS13")
]


@pytest.mark.real
@pytest.mark.parametrize(
    "text", [*GOOD, *(text for text, _sentence in CASES)], ids=range(len(GOOD) + len(CASES))
)
def test_what_prometheus_refuses_is_refused_and_what_is_accepted_it_accepts(folder, text):
    """promtool reads the same file by exporter-toolkit itself; here some more is refused, never less."""
    path = folder / "web.yml"
    path.write_text(text)
    theirs = subprocess.run(
        ["promtool", "check", "web-config", str(path)], capture_output=True, timeout=60, check=False
    )
    try:
        load_web_config(path)
    except ConfigurationError:
        assert text not in GOOD
    else:
        assert text in GOOD
        assert theirs.returncode == 0


def test_names_of_clients_are_kept_in_their_usual_form(folder):
    """Not compared with promtool: that of Debian 12 does not know the key."""
    (folder / "web.yml").write_text(
        "tls_server_config: {cert_file: ca.crt, key_file: ca.key, client_ca_file: ca.crt,"
        " client_auth_type: RequireAndVerifyClientCert,"
        " client_allowed_sans: [a.example, '2001:DB8:0::1', 'spiffe://x/y']}"
    )
    found = load_web_config(folder / "web.yml")
    assert found.tls_files.allowed_names == ("a.example", "2001:db8::1", "spiffe://x/y")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ConfigurationError, match=r"web\.yml: cannot be read \(no such file"):
        load_web_config(tmp_path / "web.yml")
