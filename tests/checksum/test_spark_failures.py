"""What Java says becomes one sentence with what to do, and never a secret."""

from __future__ import annotations

import pytest

from checksum.spark_failures import launch_failure, reading_failure
from fleet.errors import ConfigurationError, RefusedError, UnavailableError

CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"
# The first two as Spark 4.0.0's launcher wrote them; the others after Spark's and Kafka's sources, not recorded.
NO_JAVA = "JAVA_HOME is not set\n"
NO_SUCH_JAVA = (
    "/opt/spark/bin/spark-class: line 71: /nowhere/bin/java: No such file or directory\n"
    "/opt/spark/bin/spark-class: line 97: CMD: bad array subscript\n"
)
OLD_JAVA = (
    "Error: LinkageError occurred while loading main class org.apache.spark.launcher.Main\n"
    "\tjava.lang.UnsupportedClassVersionError: org/apache/spark/launcher/Main has been compiled by a more recent "
    "version of the Java Runtime\n/opt/spark/bin/spark-class: line 97: CMD: bad array subscript\n"
)
NO_VECTORS = "Error occurred during initialization of boot layer\njava.lang.module.FindException: Module jdk.incubator.vector not found\n"
UNRESOLVED = """\
:: problems summary ::
:::: WARNINGS
\t\tmodule not found: org.apache.spark#spark-sql-kafka-0-10_2.13;4.0.0
\t\t::          UNRESOLVED DEPENDENCIES         ::
\t\t:: org.apache.spark#spark-sql-kafka-0-10_2.13;4.0.0: not found
Exception in thread "main" java.lang.RuntimeException: [unresolved dependency: org.apache.spark#spark-sql-kafka-0-10_2.13;4.0.0: not found]
\tat org.apache.spark.util.MavenUtils$.resolveMavenCoordinates(MavenUtils.scala:540)
"""
HALF = 'Exception in thread "main" java.lang.RuntimeException: [download failed: org.slf4j#slf4j-api;2.0.16!slf4j-api.jar]\n\tat x\n'


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            NO_JAVA,
            "Spark needs Java and there is none here: install Java 17 or 21 (on Debian: apt-get install",
        ),
        (
            NO_SUCH_JAVA,
            "Spark cannot start /nowhere/bin/java: set JAVA_HOME to the folder of Java 17 or 21, or",
        ),
        (OLD_JAVA, "the Java at /x/java is too old for Spark: install Java 17 or 21"),
        (
            NO_VECTORS,
            "the Java at /x/java lacks the module jdk.incubator.vector, which Spark's launcher asks for",
        ),
        (
            UNRESOLVED,
            f"Spark could not fetch {CONNECTOR} (org.apache.spark#spark-sql-kafka-0-10_2.13;4.0.0): see",
        ),
        (HALF, "a half-filled copy below ~/.m2 or ~/.ivy2 has the same effect: delete it there; where this"),
        ("a\nthe end of it\n\tat java.Thread\n", "Spark did not start; the last it said: the end of it"),
        ("", "Spark did not start; the last it said: nothing"),
        ("x" * 1000, "Spark did not start; the last it said: " + "x" * 299 + "…"),
    ],
)
def test_a_spark_that_does_not_start_says_why(said, told):
    error = launch_failure(said, java="/x/java", packages=CONNECTOR)
    assert isinstance(error, UnavailableError)
    assert told in str(error)
    assert "\n" not in str(error)


def test_a_connector_that_was_not_to_be_fetched_is_not_blamed():
    assert "could not fetch" not in str(launch_failure(HALF, java="/x/java", packages=None))


def failed(text, **more):
    return reading_failure(text, cluster="A", doing="digesting", **more)


@pytest.mark.parametrize(
    ("text", "kind", "told"),
    [
        (
            "org.apache.kafka.common.errors.SaslAuthenticationException: Authentication failed",
            RefusedError,
            "cluster A: digesting failed: it refuses the credentials",
        ),
        ("x\nCaused by: javax.net.ssl.SSLHandshakeException: PKIX", RefusedError, "the TLS handshake failed"),
        ("TopicAuthorizationException: Not authorized: [t]", RefusedError, "grant READ and DESCRIBE on them"),
        (
            "UnknownTopicOrPartitionException: no",
            UnavailableError,
            "is not there any more: make the plan anew",
        ),
        (
            "assertion failed: If startingOffsets contains specific offsets, you must specify all TopicPartitions.",
            UnavailableError,
            "is not there any more: make the plan anew",
        ),
        (
            "TimeoutException: Timed out waiting for a node assignment. Call: describeTopics",
            UnavailableError,
            "it did not answer in time",
        ),
        (
            "java.lang.ArithmeticException: long overflow",
            UnavailableError,
            "further from today than Spark can count",
        ),
        (
            "Py4JJavaError: An error occurred\nCaused by: a.B: outer\n\tat x\nCaused by: a.C: the reason\n\tat y",
            UnavailableError,
            "cluster A: digesting failed: a.C: the reason",
        ),
    ],
)
def test_a_read_that_fails_says_why(text, kind, told):
    error = failed(text)
    assert type(error) is kind
    assert told in str(error)


def test_a_property_that_java_refuses_is_the_operator_s_and_its_value_stays_hidden():
    error = failed(
        "ConfigException: Invalid value Module required password=s3cret; for configuration sasl.jaas.config\n at x",
        secrets=["Module required password=s3cret;"],
    )
    assert isinstance(error, ConfigurationError)
    assert "Invalid value [hidden] for configuration sasl.jaas.config" in str(error)
    assert "s3cret" not in str(error)


def test_a_longer_secret_is_hidden_before_one_inside_it():
    assert str(failed("x abcdef y", secrets=["abc", "abcdef", ""])).endswith("x [hidden] y")
