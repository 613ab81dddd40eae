"""Tokens for AWS MSK, signed by the package aws-msk-iam-sasl-signer-python.

librdkafka asks when a client is made and again at 80 % of the life of a token (15 min), on a background
thread of each client: nothing has to poll, and no poll waits (seen with confluent-kafka 2.16 on 4.3.0).
Without a first token, making a client takes 10 s and fails; so `with_tokens` makes that token before, and
fails at once. Signing itself is local and takes milliseconds. Credentials may come from the network (the
machine's role, a role to assume, single sign-on), so a token is made on a thread of its own, and whoever asks
waits for a limited time; a later request takes the token that was late. Secrets never get into a sentence or
a log: errors are reduced to what to do and the name of their class.
"""

from __future__ import annotations

import json
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import KafkaError, KafkaException

from fleet.errors import RefusedError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runtime.kafka.failures import Symptoms

MARK: Final = "mirrorwatch-msk:"
"""With this a `sasl.oauthbearer.config` begins that tells what tokens are made from, as JSON."""

WAIT_S: Final = 5.0
_SESSION: Final = "mirrorwatch"
_ADVICE: Final = {
    "NoCredentialsError": "AWS credentials were not found: set them in the environment, a profile or a role",
    "PartialCredentialsError": "the AWS credentials are incomplete",
    "CredentialRetrievalError": "AWS credentials could not be retrieved",
    "ProfileNotFound": "the AWS profile is not in the AWS configuration files",
    "ConfigParseError": "the AWS configuration files cannot be parsed",
    "TokenRetrievalError": "the single sign-on of AWS has expired: sign in again",
    "SSOTokenLoadError": "the single sign-on of AWS has expired: sign in again",
    "UnauthorizedSSOTokenError": "the single sign-on of AWS has expired: sign in again",
    "ClientError": "AWS STS refused to give out the role: check its trust policy and sts:AssumeRole",
    "ParamValidationError": "the name of the AWS role is invalid",
    "AttributeError": "AWS credentials were not found: set them in the environment, a profile or a role",
    "ValueError": "the AWS credentials are empty",
}
_TRANSIENT: Final = frozenset(
    {"EndpointConnectionError", "ConnectTimeoutError", "ReadTimeoutError", "ProxyConnectionError"}
)


def with_tokens(librdkafka: Mapping[str, str], symptoms: Symptoms) -> dict[str, Any]:
    """Return the settings to make a client with: with a source of tokens, if they ask for MSK's IAM.

    `symptoms` hears why no token could be made, which librdkafka itself does not repeat. Raises
    KafkaException, as the client itself would, if there is no first token.
    """
    config: dict[str, Any] = dict(librdkafka)
    recipe = librdkafka.get("sasl.oauthbearer.config", "")
    if recipe.startswith(MARK):
        made_from = json.loads(recipe.removeprefix(MARK))
        source = TokenCallback(made_from, report=symptoms.hear_reason)
        try:
            source.prepare()
        except (RefusedError, UnavailableError) as error:
            failed = KafkaError(KafkaError._AUTHENTICATION, str(error))  # noqa: SLF001 - the client's name
            raise KafkaException(failed) from error
        config["oauth_cb"] = source
    return config


def principal_of(librdkafka: Mapping[str, str]) -> str | None:
    """Return in words as whom a client of these settings comes; None if it does not use MSK's IAM."""
    recipe = librdkafka.get("sasl.oauthbearer.config", "")
    if not recipe.startswith(MARK):
        return None
    made_from = json.loads(recipe.removeprefix(MARK))
    named = [
        f"the AWS {word} {made_from[key]}"
        for key, word in (("role_arn", "role"), ("profile", "profile"))
        if key in made_from
    ]
    return named[0] if named else "the AWS credentials of this process"


class TokenCallback:
    """The `oauth_cb` of one client: returns a token and when it expires, in seconds since the epoch.

    Raises UnavailableError if no token is ready in time or AWS is out of reach, and RefusedError if the
    credentials are missing or refused; librdkafka asks again 10 s later. `report` is given the error too.
    """

    def __init__(
        self,
        recipe: Mapping[str, str],
        *,
        report: Callable[[RefusedError | UnavailableError], None],
        sign: Callable[[Mapping[str, str]], tuple[str, float]] | None = None,
        wait_s: float = WAIT_S,
    ) -> None:
        self._report = report
        self._recipe = dict(recipe)
        self._sign = sign or sign_token
        self._wait_s = wait_s
        self._lock = threading.Lock()
        self._under_way: Future[tuple[str, float]] | None = None

    def __repr__(self) -> str:
        return "TokenCallback()"

    def prepare(self) -> None:
        """Make the token that the next call returns; raises as a call does."""
        self._token()

    def __call__(self, _config: str) -> tuple[str, float]:
        """Return a token that was made since the last one was taken."""
        future, found = self._token()
        self._done(future)
        return found

    def _token(self) -> tuple[Future[tuple[str, float]], tuple[str, float]]:
        with self._lock:
            future = self._under_way or self._start()
        try:
            return future, future.result(self._wait_s)
        except NotYet:
            raise self._failed(
                UnavailableError(f"no AWS token after {self._wait_s:g} s; trying again in 10 s")
            ) from None
        except Exception as error:  # noqa: BLE001 - whatever the libraries of AWS raise becomes a sentence
            self._done(future)
            raise self._failed(_translated(error)) from None

    def _start(self) -> Future[tuple[str, float]]:
        future: Future[tuple[str, float]] = Future()
        self._under_way = future
        threading.Thread(target=self._make, args=(future,), name="aws-token", daemon=True).start()
        return future

    def _make(self, future: Future[tuple[str, float]]) -> None:
        try:
            future.set_result(self._sign(self._recipe))
        except Exception as error:  # noqa: BLE001 - handed to whoever waits
            future.set_exception(error)

    def _done(self, future: Future[tuple[str, float]]) -> None:
        with self._lock:
            if self._under_way is future:
                self._under_way = None

    def _failed(self, error: UnavailableError | RefusedError) -> UnavailableError | RefusedError:
        self._report(error)
        return error


def sign_token(recipe: Mapping[str, str]) -> tuple[str, float]:
    """Return a token for the region of `recipe`, and when it expires, in seconds since the epoch.

    The credentials are those of `role_arn` if there is one, else of `profile`, else those that AWS's
    libraries find. Raises what these libraries raise.
    """
    from aws_msk_iam_sasl_signer import MSKAuthTokenProvider as Signer  # noqa: PLC0415 - the extra msk

    region = recipe["region"]
    if "role_arn" in recipe and recipe.keys() & {"profile", "sts_region", "external_id"}:
        token, expires_ms = Signer.generate_auth_token_from_credentials_provider(region, _provider(recipe))
    elif "role_arn" in recipe:
        session = recipe.get("session_name", _SESSION)
        token, expires_ms = Signer.generate_auth_token_from_role_arn(region, recipe["role_arn"], session)
    elif "profile" in recipe:
        token, expires_ms = Signer.generate_auth_token_from_profile(region, recipe["profile"])
    else:
        token, expires_ms = Signer.generate_auth_token(region)
    return token, expires_ms / 1000


def _provider(recipe: Mapping[str, str]) -> Any:
    """Return a provider of the role's credentials, by the STS of its own region and with its external id."""
    import boto3  # noqa: PLC0415 - comes with the extra msk
    from botocore.credentials import CredentialProvider, Credentials  # noqa: PLC0415 - as boto3

    class Assumed(CredentialProvider):  # type: ignore[misc]  # botocore has no types
        def load(self) -> Any:
            session = boto3.Session(
                profile_name=recipe.get("profile"), region_name=recipe.get("sts_region", recipe["region"])
            )
            extra = {"ExternalId": recipe["external_id"]} if "external_id" in recipe else {}
            answer = session.client("sts").assume_role(
                RoleArn=recipe["role_arn"], RoleSessionName=recipe.get("session_name", _SESSION), **extra
            )
            keys = answer["Credentials"]
            return Credentials(keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"])

    return Assumed()


def _translated(error: Exception) -> UnavailableError | RefusedError:
    """Return a sentence without anything of the error's own text, which may quote credentials."""
    names = [kind.__name__ for kind in type(error).__mro__]
    if isinstance(error, OSError) or _TRANSIENT & set(names):
        return UnavailableError("AWS cannot be reached to get credentials; trying again in 10 s")
    known = next((name for name in names if name in _ADVICE), None)
    if known is None:
        return RefusedError(f"the AWS token cannot be made ({names[0]})")
    return RefusedError(f"{_ADVICE[known]} ({names[0]})")
