"""Translate the TLS settings: whom to trust, who the client is, what is checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runtime.kafka.properties import stores
from runtime.kafka.properties.ciphers import openssl_name

if TYPE_CHECKING:
    from runtime.kafka.properties.draft import Draft

_NATIVE_IDENTITY: Final = (
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.key.location",
    "ssl.key.pem",
)
_JAVA_IDENTITY: Final = ("ssl.keystore.location", "ssl.keystore.certificate.chain", "ssl.keystore.key")
_FILE_TYPES: Final = frozenset({"JKS", "PKCS12", "PEM", "JCEKS", "BKS", "BCFKS", "P12", "PFX"})
_OFFERED: Final = frozenset({"TLS", "TLSV1.2", "TLSV1.3"})


def translate(draft: Draft) -> None:
    """Write the TLS settings, or their problems, into `draft`."""
    for key in ("ssl.truststore.type", "ssl.keystore.type"):
        text = draft.value(key)
        if text is not None and text.upper() not in _FILE_TYPES:
            draft.problem(
                key,
                f"is '{text}', the store of a Java provider, which cannot be opened: export it as PEM or "
                "PKCS12",
            )
    _trust(draft)
    _identity(draft)
    _checks(draft)
    _protocols(draft)
    _cipher_suites(draft)


def _trust(draft: Draft) -> None:
    if draft.has("ssl.ca.pem", "ssl.ca.location"):
        _native_trust(draft)
        return
    location, inline = draft.has("ssl.truststore.location"), draft.value("ssl.truststore.certificates")
    if location and inline is not None:
        draft.problem(
            "ssl.truststore.certificates", "and ssl.truststore.location are both set: keep one of them"
        )
        return
    key = "ssl.truststore.location" if location else "ssl.truststore.certificates"
    try:
        if inline is not None:
            draft.settings["ssl.ca.pem"] = stores.certificates_pem(inline, what="its value")
        elif location:
            path = draft.path(key)
            data = draft.read(key, path, secret=False)
            if data is None:
                return
            draft.settings["ssl.ca.pem"] = stores.trusted_pem(
                data,
                path=path,
                password=draft.value("ssl.truststore.password"),
                password_key="ssl.truststore.password",  # noqa: S106 - the key's name, for a sentence
            )
        else:
            # The wheel's OpenSSL is linked statically and has no directory of its own: try the usual ones.
            draft.settings["ssl.ca.location"] = "probe"
        _warn_of_missing_roots(draft, key)
    except stores.StoreError as error:
        draft.problem(key, str(error))


def _warn_of_missing_roots(draft: Draft, key: str) -> None:
    lone = stores.without_issuer(draft.settings["ssl.ca.pem"]) if "ssl.ca.pem" in draft.settings else []
    if lone:
        more = f" and {len(lone) - 1} more" if len(lone) > 1 else ""
        draft.note(
            key,
            f"has '{lone[0][:100]}'{more} without the issuer: Java trusts that by itself; here its root must "
            "be in the store too",
        )


def _native_trust(draft: Draft) -> None:
    for key in ("ssl.truststore.location", "ssl.truststore.certificates"):
        if draft.has(key):
            draft.note(key, "is not used: ssl.ca.pem and ssl.ca.location override it")
    pem = draft.value("ssl.ca.pem")
    try:
        if pem is not None:
            draft.settings["ssl.ca.pem"] = stores.certificates_pem(pem, what="its value")
            _warn_of_missing_roots(draft, "ssl.ca.pem")
            return
    except stores.StoreError as error:
        draft.problem("ssl.ca.pem", str(error))
        return
    location = draft.value("ssl.ca.location")
    path = "probe" if location == "probe" else draft.path("ssl.ca.location")
    if path == "probe" or _is_directory(draft, path) or draft.read("ssl.ca.location", path, secret=False):
        draft.settings["ssl.ca.location"] = path


def _is_directory(draft: Draft, path: str) -> bool:
    try:
        draft.surroundings.read_bytes(path)
    except IsADirectoryError:
        return True
    except OSError:
        return False
    return False


def _identity(draft: Draft) -> None:
    crl = draft.value("ssl.crl.location")
    if (
        crl is not None
        and draft.read("ssl.crl.location", draft.path("ssl.crl.location"), secret=False) is not None
    ):
        draft.settings["ssl.crl.location"] = draft.path("ssl.crl.location")
    if draft.has(*_NATIVE_IDENTITY):
        for key in _JAVA_IDENTITY:
            if draft.has(key):
                draft.note(key, "is not used: ssl.certificate.* and ssl.key.* override it")
        _two_parts(
            draft, "ssl.certificate.pem", "ssl.certificate.location", "ssl.key.pem", "ssl.key.location"
        )
    elif draft.has("ssl.keystore.certificate.chain", "ssl.keystore.key"):
        if draft.has("ssl.keystore.location"):
            draft.problem("ssl.keystore.location", "and ssl.keystore.key are both set: keep one of them")
            return
        _two_parts(draft, "ssl.keystore.certificate.chain", None, "ssl.keystore.key", None)
    elif draft.has("ssl.keystore.location"):
        key = "ssl.keystore.location"
        path = draft.path(key)
        data = draft.read(key, path, secret=True)
        if data is None:
            return
        try:
            identity = stores.identity_pem(
                data,
                path=path,
                store_password=draft.value("ssl.keystore.password"),
                key_password=draft.value("ssl.key.password"),
                password_key="ssl.keystore.password",  # noqa: S106 - the key's name, for a sentence
            )
        except stores.StoreError as error:
            draft.problem(key, str(error))
            return
        _present(draft, key, identity)


def _two_parts(
    draft: Draft, chain_key: str, chain_location: str | None, key_key: str, key_location: str | None
) -> None:
    """Read certificate and private key from two properties, each with its text or the name of a file."""
    chain = _text(draft, chain_key, chain_location, secret=False)
    key = _text(draft, key_key, key_location, secret=True)
    if chain is None or key is None:
        return
    chain_pem = key_pem = ""
    try:
        chain_pem = stores.certificates_pem(chain[1], what=chain[2])
    except stores.StoreError as error:
        draft.problem(chain[0], str(error))
    try:
        key_pem = stores.private_key_pem(key[1], what=key[2], password=draft.value("ssl.key.password"))
    except stores.StoreError as error:
        draft.problem(key[0], str(error))
    if chain_pem and key_pem:
        _present(draft, chain[0], stores.Identity(chain_pem=chain_pem, key_pem=key_pem))


def _text(draft: Draft, inline: str, location: str | None, *, secret: bool) -> tuple[str, str, str] | None:
    """Return the key, the PEM text and the words for it, or None where there is none (and say so)."""
    text = draft.value(inline)
    if text is not None:
        return inline, text, "its value"
    if location is not None and draft.has(location):
        path = draft.path(location)
        data = draft.read(location, path, secret=secret)
        return None if data is None else (location, data.decode("latin-1"), f"'{path}'")
    missing = "the private key" if secret else "the certificate"
    draft.problem(location or inline, f"is missing: a client certificate needs {missing} as well")
    return None


def _present(draft: Draft, key: str, identity: stores.Identity) -> None:
    if not stores.belongs_together(identity):
        draft.problem(key, "holds a certificate that does not belong to the private key")
        return
    draft.settings["ssl.certificate.pem"] = identity.chain_pem
    draft.settings["ssl.key.pem"] = identity.key_pem
    draft.certificate_expires_at = stores.expires_at(identity.chain_pem)


def _checks(draft: Draft) -> None:
    key = "ssl.endpoint.identification.algorithm"
    text = draft.properties.get(key, "https").strip().lower()
    if text not in {"https", "none", ""}:
        draft.problem(key, f"must be https, or empty to accept any host name, not '{text}'")
        return
    draft.settings[key] = text or "none"
    if text != "https":
        draft.note(key, "is empty: a broker's name is not checked against its certificate")
    key = "enable.ssl.certificate.verification"
    text = (draft.value(key) or "true").lower()
    if text not in {"true", "false"}:
        draft.problem(key, f"must be true or false, not '{text}'")
    elif text == "false":
        draft.settings[key] = text
        draft.note(key, "is false: anyone can impersonate the cluster and steal the password")


def _protocols(draft: Draft) -> None:
    for key in ("ssl.enabled.protocols", "ssl.protocol"):
        text = draft.value(key)
        if text is None:
            continue
        listed = {part.strip().upper() for part in text.split(",") if part.strip()}
        if not listed & _OFFERED:
            draft.problem(
                key, f"is '{text}': only TLSv1.2 and TLSv1.3 are offered; make the cluster accept one"
            )
        elif key == "ssl.enabled.protocols" and not listed >= {"TLSV1.2", "TLSV1.3"}:
            draft.note(key, f"is '{text}', but TLSv1.2 and TLSv1.3 are both offered: the broker decides")


def _cipher_suites(draft: Draft) -> None:
    text = draft.value("ssl.cipher.suites")
    if text is None:
        return
    names = []
    for suite in (part.strip() for part in text.split(",")):
        try:
            name = openssl_name(suite) if suite else None
        except ValueError:
            draft.problem(
                "ssl.cipher.suites",
                f"has '{suite}', which is not translated: write OpenSSL's name of the suite",
            )
            return
        if name is not None:
            names.append(name)
    if names:
        draft.settings["ssl.cipher.suites"] = ":".join(names)
    else:
        draft.note(
            "ssl.cipher.suites", "lists suites of TLS 1.3 only, which are always offered: it has no effect"
        )
