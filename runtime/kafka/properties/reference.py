"""Write docs/reference/client-properties.md from the tables, so that it matches the code."""

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

<!-- Written by runtime.kafka.properties.reference from the tables; a test fails when it is out of date. -->

Mirrorwatch reads the Kafka client properties of a cluster in Java's names or in librdkafka's names. Both may
be mixed. The tables show what Mirrorwatch does with each key. A key in neither table is an error.

- An empty value counts as not set. Under `clusters:` it removes a key of `mm2.properties`. The exception is
  `ssl.endpoint.identification.algorithm`, where empty means none.
- Paths are relative to the file that names them.
- Trust stores and key stores are PEM or PKCS12, detected from their bytes. Mirrorwatch reads the old RC2-40
  encryption of PKCS12. It refuses JKS, JCEKS and BKS, and prints the keytool command that converts them.
- A trust store needs the root CA. Java also trusts an intermediate CA or a broker's certificate by itself.
- Without a trust store, Mirrorwatch trusts the system's CAs.
- MirrorMaker ignores librdkafka's names. A librdkafka key therefore overrides the Java key of the same
  meaning.
- GSSAPI (Kerberos) is not supported. Login modules, callback handlers and security providers of Java are not
  supported either, except those of AWS MSK IAM.

## AWS MSK with IAM

The Debian package and the image have all that it needs. With pip, install `requirements-msk.txt` of the
[release](../how-to/install.md#pip). Use the properties of a Java client unchanged:

```properties
security.protocol=SASL_SSL
sasl.mechanism=AWS_MSK_IAM
sasl.jaas.config=software.amazon.msk.auth.iam.IAMLoginModule required awsProfileName="mirror";
sasl.client.callback.handler.class=software.amazon.msk.auth.iam.IAMClientCallbackHandler
```

`OAUTHBEARER` with `IAMOAuthBearerLoginCallbackHandler` works too. Mirrorwatch logs in by OAUTHBEARER on the
same port. The package `aws-msk-iam-sasl-signer-python` signs its tokens.

| option of the login module | effect |
|---|---|
| none | the credentials that AWS's libraries find: environment, profile, role of the machine |
| `awsProfileName` | the credentials of this profile |
| `awsRoleArn`, `awsRoleSessionName`, `awsRoleExternalId` | the role to assume |
| `awsStsRegion` | the region of the STS that grants the role |
| `awsDebugCreds`, `awsMaxRetries`, `awsMaxBackOffTimeMs` | none |
| `awsRoleAccessKeyId`, `awsRoleSecretAccessKey`, `awsRoleSessionToken` | refused |

If both are set, the role is assumed with the credentials of the profile. Keep credentials in the environment
or in a profile.

The region of the cluster is the first of these that is set:

1. `aws_region` under `clusters:`
2. the region in `bootstrap.servers` (`*.kafka.REGION.amazonaws.com`,
   `*.kafka-serverless.REGION.amazonaws.com`)
3. `AWS_REGION` or `AWS_DEFAULT_REGION` in the environment
4. the region of the AWS profile

A token is valid for 15 minutes. Each client requests the next one after 12 minutes. A client waits up to 5 s
for a token, and retries after 10 s. Mirrorwatch never logs AWS credentials.

The checksum reads with Spark's Java clients and passes the properties to them unchanged. Add the jar
`software.amazon.msk:aws-msk-iam-auth` (the one with `-all` in its name) to Spark's class path.

Tested: signing with invented credentials, and OAUTHBEARER with this callback against an Apache Kafka broker.
Not tested: a cluster on AWS.
"""


def markdown() -> str:
    """Return the text of docs/reference/client-properties.md."""
    return "\n".join(
        [
            _HEAD,
            "## Java's names: producer, consumer and admin client of Kafka 3.9 and 4.3",
            "",
            *_table(JAVA_KEYS.values()),
            "",
            "## librdkafka's names",
            "",
            *_table(NATIVE_KEYS.values()),
            "",
            "## Mirrorwatch's keys",
            "",
            *_table(OWN_KEYS.values()),
            "",
        ]
    )


def _table(keys: Iterable[Key]) -> list[str]:
    named = sorted(keys, key=lambda key: key.name)
    rows = [f"| `{key.name}` | {key.fate.value} | {_remark(key)} |" for key in named]
    return ["| key | fate | becomes, why, or what to do |", "|---|---|---|", *rows]


def _remark(key: Key) -> str:
    parts = []
    if key.fate is Fate.TRANSLATED and key.becomes and key.becomes != key.name:
        parts.append(f"becomes `{key.becomes}`")
    elif key.fate is Fate.TRANSLATED and key.becomes:
        parts.append("unchanged")
    if key.words:
        parts.append(" or ".join(f"`{word}`" for word in key.words))
    if key.lowest is not None:
        parts.append(f"{key.lowest} to {key.highest}")
    if key.sentence:
        parts.append(key.sentence)
    return "; ".join(parts).replace("|", "\\|")
