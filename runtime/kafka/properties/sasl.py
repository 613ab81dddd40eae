"""Translate how a client proves who it is: PLAIN, SCRAM, OAUTHBEARER and the IAM of AWS MSK."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runtime.kafka.properties import jaas, msk

if TYPE_CHECKING:
    from runtime.kafka.properties.draft import Draft

_SCRAM: Final = frozenset({"SCRAM-SHA-256", "SCRAM-SHA-512"})
_OWN: Final = (
    "give mirrorwatch a principal of its own under `clusters:`, by SCRAM, PLAIN, OAUTHBEARER or a client "
    "certificate (security.protocol, sasl.mechanism, sasl.username, sasl.password)"
)
_JAVA_ONLY: Final = ("sasl.client.callback.handler.class", "sasl.login.callback.handler.class")


def translate(draft: Draft, *, used: bool, protocol: str | None) -> None:
    """Write the SASL settings, or their problems, into `draft`; `used` says whether the protocol has SASL."""
    if not used:
        for key in ("sasl.jaas.config", "sasl.username", "sasl.mechanism", "sasl.mechanisms"):
            if draft.has(key):
                draft.note(key, f"has no effect while security.protocol is {protocol}")
    elif msk.is_meant(draft):
        msk.translate(draft)
    else:
        _by_mechanism(draft, protocol=protocol)


def _by_mechanism(draft: Draft, *, protocol: str | None) -> None:
    key = "sasl.mechanisms" if draft.has("sasl.mechanisms") else "sasl.mechanism"
    mechanism = (draft.value(key) or "").upper()
    own = draft.has("sasl.username")
    if mechanism in _SCRAM or mechanism == "PLAIN":
        draft.settings["sasl.mechanism"] = mechanism
        _handlers(draft, own=own, login_too=True)
        _credentials(draft, mechanism=mechanism)
        if mechanism == "PLAIN" and protocol == "SASL_PLAINTEXT":
            draft.note(
                "security.protocol",
                "is SASL_PLAINTEXT with PLAIN: the password crosses the network unencrypted",
            )
    elif mechanism == "OAUTHBEARER":
        draft.settings["sasl.mechanism"] = mechanism
        _handlers(draft, own=False, login_too=False)
        module = _module(draft)
        if module is not None or not draft.has("sasl.jaas.config"):
            from runtime.kafka.properties import oauth  # noqa: PLC0415 - it loads what reads certificates, some 10 MiB

            oauth.translate(draft, module=module)
    elif mechanism == "":
        draft.problem(key, f"missing, and Java's default, GSSAPI (Kerberos), is not supported; {_OWN}")
    elif mechanism == "GSSAPI":
        draft.problem(key, f"GSSAPI (Kerberos) is not supported; {_OWN}")
    else:
        draft.problem(key, f"'{draft.value(key)}' requires a Java class and is not supported; {_OWN}")


def _handlers(draft: Draft, *, own: bool, login_too: bool) -> None:
    for key in _JAVA_ONLY if login_too else _JAVA_ONLY[:1]:
        if not draft.has(key):
            continue
        if own:
            draft.note(key, "is ignored: sasl.username and sasl.password override it")
        else:
            draft.problem(key, f"Java classes are not supported; {_OWN}")


def _credentials(draft: Draft, *, mechanism: str) -> None:
    if draft.has("sasl.username") or draft.has("sasl.password"):
        for key in ("sasl.username", "sasl.password"):
            text = draft.value(key)
            if text is None:
                draft.problem(key, f"missing; {mechanism} requires sasl.username and sasl.password")
            else:
                draft.settings[key] = text
        if draft.has("sasl.jaas.config"):
            draft.note("sasl.jaas.config", "is not used: sasl.username and sasl.password override it")
        return
    _jaas_credentials(draft, mechanism=mechanism)


def _jaas_credentials(draft: Draft, *, mechanism: str) -> None:
    if not draft.has("sasl.jaas.config"):
        draft.problem(
            "sasl.jaas.config",
            f"missing; {mechanism} requires a user and a password in it, or in sasl.username and "
            "sasl.password (Java's file of java.security.auth.login.config is not read)",
        )
        return
    module = _module(draft)
    if module is None:
        return
    # Both modules only carry user and password; but the SCRAM one alone teaches Java SCRAM.
    fitting = {"ScramLoginModule"} if mechanism in _SCRAM else {"PlainLoginModule", "ScramLoginModule"}
    if module.simple_name not in fitting:
        draft.problem(
            "sasl.jaas.config",
            f"{mechanism} requires the login module {min(fitting)}, not {module.simple_name}; {_OWN}",
        )
        return
    if module.options.get("tokenauth", "").lower() == "true":
        draft.problem("sasl.jaas.config", f"delegation tokens (tokenauth) are not supported; {_OWN}")
    for option in ("username", "password"):
        text = module.options.get(option, "")
        if text:
            draft.settings[f"sasl.{option}"] = text
        else:
            draft.problem(
                "sasl.jaas.config", f'missing option {option}; write {option}="..." before the semicolon'
            )


def _module(draft: Draft) -> jaas.LoginModule | None:
    text = draft.value("sasl.jaas.config")
    if text is None:
        return None
    try:
        return jaas.login_module(text)
    except jaas.JaasError as error:
        draft.problem("sasl.jaas.config", str(error))
        return None
