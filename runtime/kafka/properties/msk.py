"""AWS MSK with IAM: what Java's aws-msk-iam-auth is configured with becomes OAUTHBEARER with signed tokens.

MSK takes the same signed request by either mechanism, AWS_MSK_IAM and OAUTHBEARER, and librdkafka knows the
second. The token is made by `aws-msk-iam-sasl-signer-python` (the extra `msk`). What it is made from travels
as text in librdkafka's `sasl.oauthbearer.config`, so that another process can be given the settings;
`msk_tokens.with_tokens` adds the callback when a client is made.

Source: aws-msk-iam-auth 2.3 (IAMClientCallbackHandler, IAMOAuthBearerLoginCallbackHandler and the options of
MSKCredentialProvider).
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
from typing import TYPE_CHECKING, Final

from runtime.kafka.properties import jaas
from runtime.kafka.properties.fate import special
from runtime.kafka.properties.msk_tokens import MARK

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runtime.kafka.properties.draft import Draft

MECHANISM: Final = "AWS_MSK_IAM"
REGION_KEY: Final = "aws_region"
"""Mirrorwatch's own key of a cluster: the region that its tokens are signed for."""

OWN_KEYS: Final = {
    REGION_KEY: special(
        REGION_KEY,
        "with AWS MSK IAM: the region of the cluster, where neither its address nor AWS_REGION names it",
    )
}
"""Keys of a cluster that only Mirrorwatch has; Java's clients must not be given them."""

_PACKAGE: Final = "software.amazon.msk.auth.iam."
_JAAS: Final = "sasl.jaas.config"
_CLIENT_HANDLER: Final = "sasl.client.callback.handler.class"
_LOGIN_HANDLER: Final = "sasl.login.callback.handler.class"
_LOGIN_MODULES: Final = frozenset({"IAMLoginModule", "OAuthBearerLoginModule"})
_HANDLERS: Final = frozenset({"IAMClientCallbackHandler", "IAMOAuthBearerLoginCallbackHandler"})
_REGION: Final = re.compile(r"[a-z]{2,4}(?:-[a-z]+){1,3}-\d{1,2}")
_ADDRESS: Final = re.compile(
    r"\.kafka(?:-serverless)?\.(" + _REGION.pattern + r")\.(?:amazonaws\.com(?:\.cn)?|api\.aws)\.?(?::\d+)?$",
    re.IGNORECASE,
)
_OPTIONS: Final = {
    "awsProfileName": "profile",
    "awsRoleArn": "role_arn",
    "awsRoleSessionName": "session_name",
    "awsStsRegion": "sts_region",
    "awsRoleExternalId": "external_id",
}
# Java's own ways to wait and to report, which change no token.
_WITHOUT_EFFECT: Final = frozenset({"awsDebugCreds", "awsMaxRetries", "awsMaxBackOffTimeMs"})
_ELSEWHERE: Final = "put them into the environment or a profile that mirrorwatch can read"


def is_meant(draft: Draft) -> bool:
    """Tell whether the properties ask for MSK's IAM, in either of Java's spellings."""
    mechanism = (draft.value(_mechanism_key(draft)) or "").upper()
    return mechanism == MECHANISM or (
        mechanism == "OAUTHBEARER"
        and any((draft.value(key) or "").startswith(_PACKAGE) for key in (_CLIENT_HANDLER, _LOGIN_HANDLER))
    )


def translate(
    draft: Draft,
    *,
    environ: Mapping[str, str] | None = None,
    installed: Callable[[], bool] | None = None,
    configured: Callable[[str | None], str] | None = None,
) -> None:
    """Write the settings for MSK's IAM, or their problems, into `draft`.

    `environ` has AWS_REGION, `installed` returns whether the signer is there, and `configured` the region
    of a profile in AWS's own configuration files.
    """
    if not (installed or _is_installed)():
        draft.problem(
            _mechanism_key(draft),
            "requires the package aws-msk-iam-sasl-signer-python for AWS MSK IAM, which is not installed: "
            "install requirements-msk.txt of the release",
        )
    for key in (_CLIENT_HANDLER, _LOGIN_HANDLER):
        handler = draft.value(key)
        if handler is not None and handler.removeprefix(_PACKAGE) not in _HANDLERS:
            draft.problem(
                key,
                f"is not one of {_PACKAGE}{', '.join(sorted(_HANDLERS))}, and no other Java class can be "
                "run: set the key empty under `clusters:`",
            )
    options = _options(draft)
    region = _region(
        draft,
        os.environ if environ is None else environ,
        lambda: (configured or _configured_region)((options or {}).get("profile")),
    )
    if options is None or region is None:
        return
    draft.settings["sasl.mechanism"] = "OAUTHBEARER"
    draft.settings["sasl.oauthbearer.config"] = MARK + json.dumps({"region": region, **options})


def _options(draft: Draft) -> dict[str, str] | None:
    """Return what the token is made from, None if that is wrong; without a login module it is empty."""
    text = draft.value(_JAAS)
    if text is None:
        return {}
    try:
        module = jaas.login_module(text)
    except jaas.JaasError as error:
        draft.problem(_JAAS, str(error))
        return None
    if module.simple_name not in _LOGIN_MODULES:
        draft.problem(
            _JAAS,
            f"names the login module {module.simple_name}, but AWS MSK IAM takes {_PACKAGE}IAMLoginModule",
        )
        return None
    found = {}
    for option, value in module.options.items():
        if option in _OPTIONS:
            if value:
                found[_OPTIONS[option]] = value
        elif option.startswith("awsRole"):  # a key pair, and its session token
            draft.problem(
                _JAAS, f"has the option {option}, and credentials are not taken from here: {_ELSEWHERE}"
            )
        elif option not in _WITHOUT_EFFECT:
            draft.note(_JAAS, f"has the option {option[:60]}, which is unknown and ignored")
    if "role_arn" in found and "profile" in found:
        draft.note(
            _JAAS, "has awsRoleArn and awsProfileName: the role is assumed with the profile's credentials"
        )
    return found


def _region(draft: Draft, environ: Mapping[str, str], configured: Callable[[], str]) -> str | None:
    """Return the region that tokens are signed for; None, and a problem, if nothing names it."""
    written = draft.value(REGION_KEY)
    if written is not None:
        if _REGION.fullmatch(written):
            return written
        draft.problem(REGION_KEY, f"invalid AWS region '{written[:60]}'; write one such as eu-west-1")
        return None
    servers = draft.value("bootstrap.servers", "metadata.broker.list") or ""
    by_address = {match[1].lower() for each in servers.split(",") if (match := _ADDRESS.search(each.strip()))}
    if len(by_address) > 1:
        draft.problem(
            "bootstrap.servers",
            f"has addresses in the regions {', '.join(sorted(by_address))}: name brokers of one cluster",
        )
        return None
    found = next(iter(by_address), "") or environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION")
    found = found or configured()
    if not _REGION.fullmatch(found):
        draft.problem(
            _mechanism_key(draft),
            "requires the region of the MSK cluster, which neither bootstrap.servers "
            "(*.kafka.REGION.amazonaws.com) nor AWS_REGION nor the AWS profile names: write it under "
            f"`clusters:` as {REGION_KEY}, for example {REGION_KEY}: eu-west-1",
        )
        return None
    return found


def _mechanism_key(draft: Draft) -> str:
    return "sasl.mechanisms" if draft.has("sasl.mechanisms") else "sasl.mechanism"


def _configured_region(profile: str | None) -> str:
    try:
        import botocore.session  # noqa: PLC0415 - comes with the extra msk, and takes a while to load

        return str(botocore.session.Session(profile=profile).get_config_variable("region") or "")
    except Exception:  # noqa: BLE001 - whatever is wrong with AWS's files, it names no region
        return ""


def _is_installed() -> bool:
    return importlib.util.find_spec("aws_msk_iam_sasl_signer") is not None
