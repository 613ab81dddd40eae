"""Translate OAUTHBEARER: Java's client-credentials and JWT-bearer grants become librdkafka's `oidc`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from runtime.kafka.properties import stores

if TYPE_CHECKING:
    from runtime.kafka.properties.draft import Draft
    from runtime.kafka.properties.jaas import LoginModule

_JAAS: Final = "sasl.jaas.config"
_URL: Final = "sasl.oauthbearer.token.endpoint.url"
_RETRIEVER: Final = "sasl.oauthbearer.jwt.retriever.class"
_HANDLER: Final = "sasl.login.callback.handler.class"
_JWT_BEARER: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_FILES: Final = {
    "sasl.oauthbearer.assertion.file": "sasl.oauthbearer.assertion.file",
    "sasl.oauthbearer.assertion.private.key.file": "sasl.oauthbearer.assertion.private.key.file",
    "sasl.oauthbearer.assertion.jwt.template.file": "sasl.oauthbearer.assertion.jwt.template.file",
    "sasl.oauthbearer.assertion.template.file": "sasl.oauthbearer.assertion.jwt.template.file",
}
_SYSTEM_AUTHORITIES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Arch, Alpine
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, Red Hat
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",  # SUSE
    "/etc/ssl/cert.pem",  # Alpine, macOS, BSD
)
_PLAIN_CLIENT: Final = re.compile(r"[A-Za-z0-9._*-]*")


def translate(draft: Draft, *, module: LoginModule | None) -> None:
    """Write the OAUTHBEARER settings into `draft`; `module` is what sasl.jaas.config holds, if it does."""
    options = module.options if module is not None else {}
    if module is not None and module.simple_name != "OAuthBearerLoginModule":
        draft.problem(
            _JAAS,
            f"names the login module {module.simple_name}, but OAUTHBEARER takes OAuthBearerLoginModule",
        )
        return
    draft.settings["sasl.oauthbearer.method"] = "oidc"
    _classes(draft)
    _endpoint(draft, unsecured=any(name.startswith("unsecured") for name in options))
    _files(draft)
    _client(draft, options)
    extensions = [f"{name[10:]}={text}" for name, text in options.items() if name.startswith("extension_")]
    if extensions and not draft.has("sasl.oauthbearer.extensions"):
        draft.settings["sasl.oauthbearer.extensions"] = ",".join(extensions)
    _token_endpoint_trust(draft, options)


def _classes(draft: Draft) -> None:
    handler = draft.value(_HANDLER)
    if handler is not None and not re.fullmatch(
        r"org\.apache\.kafka\.common\.security\.oauthbearer\.(secured\.)?OAuthBearerLoginCallbackHandler",
        handler,
    ):
        draft.problem(
            _HANDLER,
            "names a Java class, which requires Java: set it empty under `clusters:`, and set "
            "sasl.oauthbearer.token.endpoint.url, sasl.oauthbearer.client.id, "
            "sasl.oauthbearer.client.secret and "
            "sasl.oauthbearer.scope there",
        )
    retriever = draft.value(_RETRIEVER)
    match (retriever or "").rpartition(".")[2]:
        case "" | "DefaultJwtRetriever" | "ClientCredentialsJwtRetriever":
            pass
        case "JwtBearerJwtRetriever":
            draft.settings.setdefault("sasl.oauthbearer.grant.type", _JWT_BEARER)
        case _:
            draft.problem(
                _RETRIEVER,
                "names a Java class, which requires Java: set it empty under `clusters:`, with a client's "
                "id and secret and sasl.oauthbearer.token.endpoint.url",
            )


def _endpoint(draft: Draft, *, unsecured: bool) -> None:
    text = draft.value(_URL)
    if text is None:
        if draft.value("sasl.oauthbearer.metadata.authentication.type") == "azure_imds":
            return
        why = " (sasl.jaas.config asks for unsigned tokens, which are only for tests)" if unsecured else ""
        draft.problem(_URL, f"is missing{why}; set it to the token endpoint of the identity provider")
        return
    try:
        url = urlsplit(text)
        usable = url.scheme in {"http", "https"} and bool(url.hostname)
    except ValueError:
        usable = False
    if not usable:
        draft.problem(
            _URL, "is not an http or https address: a token from a file or by other means is not supported"
        )
        return
    if url.scheme == "http":
        draft.note(_URL, "is http: the client's secret crosses the network unencrypted")
    draft.settings[_URL] = text


def _files(draft: Draft) -> None:
    for key, becomes in _FILES.items():
        if not draft.has(key) or (key != becomes and draft.has(becomes)):
            continue
        path = draft.path(key)
        if draft.read(key, path, secret="template" not in key) is not None:
            draft.settings[becomes] = path


def _client(draft: Draft, options: dict[str, str]) -> None:
    """Take the client's id, secret and scope; Kafka's own properties go before the options of the module."""
    client = "sasl.oauthbearer.client."
    bearer = draft.settings.get("sasl.oauthbearer.grant.type") == _JWT_BEARER
    needs_client = not bearer and not draft.has("sasl.oauthbearer.metadata.authentication.type")
    for part, option in (("id", "clientId"), ("secret", "clientSecret")):
        text = draft.value(f"{client}{part}", f"{client}credentials.client.{part}") or options.get(option, "")
        if text:
            draft.settings[f"{client}{part}"] = text
        elif needs_client:
            draft.problem(
                f"{client}{part}",
                f"is missing: set it, or sasl.oauthbearer.client.credentials.client.{part}, or {option} in "
                f"{_JAAS}",
            )
    scope = draft.value("sasl.oauthbearer.scope") or options.get("scope", "")
    if scope:
        draft.settings["sasl.oauthbearer.scope"] = scope
    if bearer and not draft.has(
        "sasl.oauthbearer.assertion.file",
        "sasl.oauthbearer.assertion.private.key.file",
        "sasl.oauthbearer.assertion.private.key.pem",
    ):
        draft.problem(
            "sasl.oauthbearer.assertion.private.key.file",
            "is missing: the JWT-bearer grant needs a key to sign with",
        )
    urlencode = "sasl.oauthbearer.header.urlencode"
    if (draft.value(urlencode) or "").lower() == "true" and not all(
        _PLAIN_CLIENT.fullmatch(draft.settings.get(f"{client}{part}", "")) for part in ("id", "secret")
    ):
        draft.problem(
            urlencode,
            "is true, and librdkafka sends the client's id and secret as they are: use a client whose id "
            "and secret are letters, digits, '-', '.', '_' and '*', or set the key to false",
        )


def _token_endpoint_trust(draft: Draft, options: dict[str, str]) -> None:
    """Take the trust store of the token endpoint, which Java reads from the options of the login module."""
    if draft.has("https.ca.location") and draft.value("https.ca.location") != "probe":
        path = draft.path("https.ca.location")
        if draft.read("https.ca.location", path, secret=False) is not None:
            draft.settings["https.ca.location"] = path
        return
    if draft.has("https.ca.pem"):
        return
    strange = sorted(
        name
        for name in options
        if name.startswith("ssl.") and not name.startswith(("ssl.truststore.", "ssl.protocol"))
    )
    if strange:
        draft.problem(
            _JAAS, f"has the option {strange[0]}, which cannot be applied to the token endpoint: leave it out"
        )
    try:
        if options.get("ssl.truststore.certificates"):
            pem = stores.certificates_pem(
                options["ssl.truststore.certificates"], what="ssl.truststore.certificates"
            )
        elif options.get("ssl.truststore.location"):
            path = draft.path(_JAAS, options["ssl.truststore.location"])
            data = draft.read(_JAAS, path, secret=False)
            if data is None:
                return
            pem = stores.trusted_pem(
                data,
                path=path,
                password=options.get("ssl.truststore.password"),
                password_key="the option ssl.truststore.password",  # noqa: S106 - a name for a sentence
            )
        else:
            _system_authorities(draft)
            return
    except stores.StoreError as error:
        draft.problem(_JAAS, str(error))
        return
    draft.settings["https.ca.pem"] = pem


def _system_authorities(draft: Draft) -> None:
    """Name the system's CA file where the token endpoint is https.

    librdkafka 2.16 probes the usual places for brokers, but not for a token endpoint.
    """
    if not draft.settings.get(_URL, "").startswith("https:"):
        return
    for path in _SYSTEM_AUTHORITIES:
        try:
            draft.surroundings.read_bytes(path)
        except OSError:
            continue
        draft.settings["https.ca.location"] = path
        return
    draft.problem(
        "https.ca.location",
        "is missing, and the system's CA file is in none of the usual places: install ca-certificates or "
        "name a file",
    )
