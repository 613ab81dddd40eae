"""Write docs/reference/client-properties.md from the tables, so that what is documented is what happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runtime.kafka.properties.fate import Fate, Key
from runtime.kafka.properties.java_clients import JAVA_KEYS
from runtime.kafka.properties.msk import OWN_KEYS
from runtime.kafka.properties.native_keys import NATIVE_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterable

_HEAD: Final = """\
# Client properties

<!-- Written by runtime.kafka.properties.reference from the tables; the tests tell when it is out of step. -->

Mirrorwatch reads the Kafka client properties of a cluster in Java's spelling or in librdkafka's, mixed key by
key. This page says what becomes of each. A key that stands in neither table is an error.

- An empty value counts as not given: under `clusters:` it takes back a key of `mm2.properties`. The exception
  is `ssl.endpoint.identification.algorithm`, where empty means none.
- Paths are relative to the file in which they are written.
- Trust stores and key stores are PEM or PKCS12, told by their bytes. The old RC2-40 encryption of PKCS12 is
  read. JKS, JCEKS and BKS are refused, with the keytool line that converts them.
- Where no trust store is named, the system's CAs are trusted.
- librdkafka's spelling can only be meant for mirrorwatch, since MirrorMaker does not know it: where it says
  the same thing as a Java key, it goes before it.
- GSSAPI (Kerberos) is not supported, nor is any login module, callback handler or security provider of Java,
  except those of AWS MSK IAM.

## AWS MSK with IAM

Install the extra: `pip install 'mirrorwatch[msk]'`. Then the properties of a Java client work as they are:

```properties
security.protocol=SASL_SSL
sasl.mechanism=AWS_MSK_IAM
sasl.jaas.config=software.amazon.msk.auth.iam.IAMLoginModule required awsProfileName="mirror";
sasl.client.callback.handler.class=software.amazon.msk.auth.iam.IAMClientCallbackHandler
```

The other spelling works too: `OAUTHBEARER` with `IAMOAuthBearerLoginCallbackHandler`. Mirrorwatch logs in by
OAUTHBEARER on the same port. Its tokens are signed by `aws-msk-iam-sasl-signer-python`.

| option of the login module | effect |
|---|---|
| none | the credentials that AWS's libraries find: environment, profile, role of the machine |
| `awsProfileName` | the credentials of this profile |
| `awsRoleArn`, `awsRoleSessionName`, `awsRoleExternalId` | the role that is assumed |
| `awsStsRegion` | the region whose STS gives out the role |
| `awsDebugCreds`, `awsMaxRetries`, `awsMaxBackOffTimeMs` | none |
| `awsRoleAccessKeyId`, `awsRoleSecretAccessKey`, `awsRoleSessionToken` | refused |

A role is assumed with the credentials of the profile, if both are named. Keep credentials themselves in the
environment or in a profile.

The region of the cluster is `aws_region` under `clusters:`, else the one in `bootstrap.servers`
(`*.kafka.REGION.amazonaws.com`, `*.kafka-serverless.REGION.amazonaws.com`), else `AWS_REGION` or
`AWS_DEFAULT_REGION` of the environment, else that of the AWS profile.

A token lasts 15 minutes, and each client asks for the next one after 12. A client waits up to 5 s for a
token, and asks again 10 s later. AWS credentials are never logged.

The checksum reads with Spark's Java clients, which are given the properties untranslated. Add the jar
`software.amazon.msk:aws-msk-iam-auth` (the one with `-all` in its name) to Spark's class path.

Tried: signing with invented credentials, and OAUTHBEARER with this callback against a broker of Apache Kafka.
Not tried: a cluster of AWS.
"""


def markdown() -> str:
    """Return the text of docs/reference/client-properties.md."""
    return "\n".join(
        [
            _HEAD,
            "## Java's spelling: producer, consumer and admin client of Kafka 3.9 and 4.3",
            "",
            *_table(JAVA_KEYS.values()),
            "",
            "## librdkafka's own spelling",
            "",
            *_table(NATIVE_KEYS.values()),
            "",
            "## Mirrorwatch's own",
            "",
            *_table(OWN_KEYS.values()),
            "",
        ]
    )


def _table(keys: Iterable[Key]) -> list[str]:
    named = sorted(keys, key=lambda key: key.name)
    rows = [f"| `{key.name}` | {key.fate.value} | {_remark(key)} |" for key in named]
    return ["| key | fate | to what, why, or what to do |", "|---|---|---|", *rows]


def _remark(key: Key) -> str:
    parts = []
    if key.fate is Fate.TRANSLATED and key.becomes and key.becomes != key.name:
        parts.append(f"becomes `{key.becomes}`")
    elif key.fate is Fate.TRANSLATED and key.becomes:
        parts.append("as it is")
    if key.words:
        parts.append(" or ".join(f"`{word}`" for word in key.words))
    if key.lowest is not None:
        parts.append(f"{key.lowest} to {key.highest}")
    if key.sentence:
        parts.append(key.sentence)
    return "; ".join(parts).replace("|", "\\|")
