"""What Java says becomes one sentence with what to do, and never a secret."""

from __future__ import annotations

import pytest

from checksum.spark.failures import failure_text, folder_failure, java_cause, launch_failure, reading_failure
from fleet.errors import ConfigurationError, RefusedError, UnavailableError

ENDED_BY_MASTER = (
    "26/11/23 12:05:00 ERROR StandaloneSchedulerBackend: Application has been killed. Reason: Master removed our"
    " application: FAILED\norg.apache.spark.SparkException: Exiting due to error from cluster scheduler\n"
)
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
# The first as Spark 4.0.0 wrote it under Java 25, the second in the words of Java 23's source.
NEW_JAVA = (
    "26/11/23 12:42:23 WARN NativeCodeLoader: Unable to load native-hadoop library for your platform... using\n"
    "\nAn error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.\n"
    ": java.lang.UnsupportedOperationException: getSubject is not supported\n"
    "\tat java.base/javax.security.auth.Subject.getSubject(Subject.java:277)\n"
)
JAVA_23 = (
    "java.lang.UnsupportedOperationException: getSubject is supported only if a security manager is allowed\n"
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


TWO_COLLECTORS = (
    "Picked up JAVA_TOOL_OPTIONS: -XX:+UseG1GC\nError occurred during initialization of VM\n"
    "Multiple garbage collectors selected\n"
)
# As Spark 4.0.0 wrote them.
NO_MASTER = (
    "26/11/22 15:48:43 ERROR SparkContext: Error initializing SparkContext.\n"
    "org.apache.spark.SparkException: Could not parse Master URL: 'local[x]'\n\tat org.apache.spark.SparkContext"
)
NO_NAME = (
    'Exception in thread "main" java.lang.IllegalArgumentException: basedir must be absolute: ?/.ivy2.5.2/local\n'
    "\tat org.apache.ivy.util.Checks.checkAbsolute(Checks.java:48)\n"
)
SILENT_MASTER = (
    "26/11/22 15:49:41 WARN StandaloneAppClient$ClientEndpoint: Failed to connect to master 127.0.0.1:1\n"
    "Caused by: java.net.ConnectException: Connection refused\n"
    "26/11/22 15:50:01 ERROR StandaloneSchedulerBackend: Application has been killed. Reason: All masters are "
    "unresponsive! Giving up.\n\n(No active SparkContext.)"
)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (NO_NAME, "Spark needs a user name, and this user id has none; add it"),
        (SILENT_MASTER, "no Spark master answers at --master; check that it runs, and that"),
        (
            ENDED_BY_MASTER,
            "Spark's master ended the application before it started; see the logs of its workers",
        ),
        ("\n(No active SparkContext.)", "Spark's master ended the application before it started"),
        (
            NO_JAVA,
            "Java not found; install Java 17 or 21 (on Debian: apt-get install",
        ),
        (
            NO_SUCH_JAVA,
            "Spark cannot start /nowhere/bin/java; set JAVA_HOME to the folder of Java 17 or 21, or",
        ),
        (OLD_JAVA, "the Java at /x/java is too old for Spark; install Java 17 or 21"),
        (
            NEW_JAVA,
            "the Java at /x/java is too new for Spark; install Java 17 or 21 (on Debian: apt-get install",
        ),
        (
            JAVA_23,
            "the Java at /x/java is too new for Spark; install Java 17 or 21 (on Debian: apt-get install",
        ),
        (
            NO_VECTORS,
            "the Java at /x/java lacks the module jdk.incubator.vector, which Spark requires",
        ),
        (
            UNRESOLVED,
            f"Spark cannot download {CONNECTOR} (org.apache.spark#spark-sql-kafka-0-10_2.13;4.0.0); check",
        ),
        (
            TWO_COLLECTORS,
            "two garbage collectors are set for Java; keep one of them in JAVA_TOOL_OPTIONS,",
        ),
        (HALF, "if ~/.m2 or ~/.ivy2 has an incomplete copy, delete it; without"),
        ("a\nthe end of it\n\tat java.Thread\n", "Spark did not start; its last output: the end of it"),
        ("", "Spark did not start; its last output: nothing"),
        ("x" * 1000, "Spark did not start; its last output: " + "x" * 299 + "…"),
    ],
)
def test_a_spark_that_does_not_start_says_why(said, told):
    error = launch_failure(said, java="/x/java", packages=CONNECTOR)
    assert isinstance(error, UnavailableError)
    assert told in str(error)
    assert "\n" not in str(error)


def test_a_master_that_there_cannot_be_is_a_mistake_on_the_command_line():
    error = launch_failure(NO_MASTER, java="/x/java", packages=None)
    assert isinstance(error, ConfigurationError)
    assert str(error).startswith("the command line: --master: unknown master 'local[x]';")


def test_a_connector_that_was_not_to_be_fetched_is_not_blamed():
    assert "cannot download" not in str(launch_failure(HALF, java="/x/java", packages=None))


def failed(text, **more):
    return reading_failure(text, cluster="A", doing="digesting", **more)


@pytest.mark.parametrize(
    ("text", "kind", "told"),
    [
        (
            "org.apache.kafka.common.errors.SaslAuthenticationException: Authentication failed",
            RefusedError,
            "cluster A: digesting failed: invalid credentials",
        ),
        ("x\nCaused by: javax.net.ssl.SSLHandshakeException: PKIX", RefusedError, "TLS handshake failed"),
        ("TopicAuthorizationException: Not authorized: [t]", RefusedError, "grant READ and DESCRIBE on them"),
        (
            "UnknownTopicOrPartitionException: no",
            UnavailableError,
            "no longer exists; plan again",
        ),
        (
            "assertion failed: If startingOffsets contains specific offsets, you must specify all TopicPartitions.",
            UnavailableError,
            "no longer exists; plan again",
        ),
        (
            "TimeoutException: Timed out waiting for a node assignment. Call: describeTopics",
            UnavailableError,
            "no answer in time",
        ),
        (
            "java.lang.ArithmeticException: long overflow",
            UnavailableError,
            "out of Spark's range",
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


# As Spark 4.0.0 wrote them, cut short.
A_FILE = (
    "An error occurred while calling o73.parquet.\n: org.apache.hadoop.fs.ParentNotDirectoryException: Parent path "
    "is not a directory: file:/x/afile\n\tat org.apache\n\tSuppressed: org.apache.spark.util.Utils$Original: Full\n"
    "\t\tat org.apache\n\t\t... 20 more\n"
)
NO_SYSTEM = (
    "An error occurred while calling o89.parquet.\n: org.apache.hadoop.fs.UnsupportedFileSystemException: No "
    'FileSystem for scheme "s4"\n\tat org.apache\n'
)
NO_S3 = (
    "An error occurred while calling o152.parquet.\n: java.lang.RuntimeException: java.lang.ClassNotFoundException: "
    "Class org.apache.hadoop.fs.s3a.S3AFileSystem not found\n"
)
REFUSED = (
    "An error occurred while calling o127.parquet.\n: java.net.ConnectException: Call From vm/127.0.0.1 to "
    "localhost:1 failed on connection exception: java.net.ConnectException: Connection refused; For more details see\n"
)
MKDIRS = (
    "Job aborted.\nCaused by: java.io.IOException: Mkdirs failed to create file:/proc/nope/x (exists=false)\n"
)


@pytest.mark.parametrize(
    ("said", "kind", "told"),
    [
        (A_FILE, ConfigurationError, "/x: is a file, or inside one; name a folder"),
        (
            NO_SYSTEM,
            ConfigurationError,
            "/x: Spark lacks the jars for this kind of file system; put them into",
        ),
        (NO_S3, ConfigurationError, "/x: Spark lacks the jars for this kind of file system; put them into"),
        (
            "java.net.URISyntaxException: Relative path in absolute URI: a b:c",
            ConfigurationError,
            "/x: not a folder",
        ),
        (
            "Wrong FS: file://host/x, expected: file:///",
            ConfigurationError,
            "/x: not a folder that Spark can write",
        ),
        (MKDIRS, RefusedError, "/x: cannot write; give Spark's user write permission"),
        (
            "java.net.UnknownHostException: nowhere.invalid",
            UnavailableError,
            "/x: cannot connect: unknown host nowhere.invalid",
        ),
        (REFUSED, UnavailableError, "/x: cannot connect: Call From vm/127.0.0.1 to localhost:1 failed on"),
    ],
)
def test_a_folder_that_cannot_be_used_is_told_by_its_name(said, kind, told):
    error = folder_failure(said, path="/x")
    assert type(error) is kind
    assert str(error).startswith(told)
    assert "\n" not in str(error)


def test_what_is_not_about_the_folder_is_not_blamed_on_it():
    assert folder_failure("org.apache.kafka.common.errors.TimeoutException: Timed out", path="/x") is None


def test_java_s_own_words_are_found_behind_what_python_says_of_it():
    assert java_cause(A_FILE).startswith(
        "org.apache.hadoop.fs.ParentNotDirectoryException: Parent path is not"
    )
    assert java_cause("x\nCaused by: one\n\tat y\nCaused by: two\n\t... 1 more") == "two"
    assert java_cause("\tat x\n\t... 1 more") == "no reason given"


def test_more_or_less_memory_is_given_by_the_option_that_there_is():
    said = "java.lang.OutOfMemoryError: Java heap space"
    assert "raise --driver-memory" in str(reading_failure(said, cluster="A", doing="reading"))
    said = "os::commit_memory failed; error='Cannot allocate memory'"
    assert "lower --driver-memory" in str(launch_failure(said, java="java", packages=None))


NO_SOCKET = (
    """[CANNOT_OPEN_SOCKET] Can not open socket: ["tried to connect to ('127.0.0.1', 1), but an error """
    """occurred: [Errno 111] Connection refused"]."""
)


@pytest.mark.parametrize(
    "said",
    [
        "py4j.protocol.Py4JError: Answer from Java side is empty",
        "An error occurred while trying to connect to the Java server (127.0.0.1:1)",
        "Error while sending",
        "Error while receiving",
        "Error while sending or receiving",
        NO_SOCKET,
        failure_text(EOFError()),
        failure_text(ConnectionResetError(104, "Connection reset by peer")),
        failure_text(BrokenPipeError(32, "Broken pipe")),
    ],
)
def test_an_end_of_java_is_not_blamed_on_the_cluster(said):
    told = "Spark's Java process ended; check whether it was killed, or this machine ran out of memory"
    assert str(reading_failure(said, cluster="A", doing="reading")) == f"cluster A: reading failed: {told}"
    assert java_cause(said) == told
