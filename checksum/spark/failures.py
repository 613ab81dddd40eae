"""Turn what Spark, its launcher and Kafka's Java clients say into one sentence for a person. Pure.

Java's text is cut short and never shown with a secret in it: whoever calls hands over the values to hide.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fleet.errors import ConfigurationError, MirrorwatchError, Problem, RefusedError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX_CHARS = 300
_HIDDEN: Final = "[hidden]"
_BAKED_IN: Final = (
    "where this machine has no way out, put the connector's jars into Spark's own folder of jars once "
    "(docs/explanation/checksum.md says which)"
)
_JAVA_ENDED: Final = re.compile(
    "Answer from Java side is empty|to connect to the Java server|Error while (?:sending|receiving)"
    "|CANNOT_OPEN_SOCKET.*Connection (?:refused|reset)"
)
_WHY_IT_ENDED: Final = (
    "Spark's own Java ended: see whether somebody ended it, or whether this machine lacked memory"
)
_INSTALL_JAVA: Final = "install Java 17 or 21 (on Debian: apt-get install openjdk-17-jre-headless)"

_NAME_USER: Final = (
    "Spark needs a user that has a name, and the number that this runs as has none: give it an entry in "
    "/etc/passwd (under systemd's DynamicUser, install libnss-systemd)"
)

_TWO_COLLECTORS: Final = (
    "Java is told to use two garbage collectors: leave one of them in JAVA_TOOL_OPTIONS, JDK_JAVA_OPTIONS, "
    "_JAVA_OPTIONS and the Java options of spark-defaults.conf"
)

# What the launcher says, first match first: the regular expression and what it means.
_LAUNCHING: Final = (
    (
        r"All masters are unresponsive",
        "no Spark answers where --master says: see that it runs there, and that this machine reaches it",
    ),
    (
        r"Master removed our application|Application has been killed|No active SparkContext",
        (
            "Spark's master ended the application before it began: the logs of its workers, which start its "
            "executors, say why"
        ),
    ),
    (r"JAVA_HOME is not set", f"Spark needs Java and there is none here: {_INSTALL_JAVA}"),
    (
        r"(\S*/bin/java): (?:No such file|not found|cannot execute|Permission denied)",
        "Spark cannot start {0}: set JAVA_HOME to the folder of Java 17 or 21, or unset it",
    ),
    (r"UnsupportedClassVersionError", f"the Java at {{java}} is too old for Spark: {_INSTALL_JAVA}"),
    (  # Java 23 and later, in the words of 24 (JEP 486) and of 23
        r"getSubject is (?:not supported|supported only if)",
        f"the Java at {{java}} is too new for Spark: {_INSTALL_JAVA}, and name its folder in JAVA_HOME",
    ),
    (
        r"[Mm]odule (jdk\.incubator\.vector) not found",
        f"the Java at {{java}} lacks the module {{0}}, which Spark's launcher asks for: {_INSTALL_JAVA}",
    ),
    (
        r"(?:Cannot allocate memory|insufficient memory|Could not reserve enough space)",
        "there is not enough memory to start Spark: give it less (--driver-memory) or this machine more",
    ),
    (
        r"basedir must be absolute: \?/|invalid null input: name",
        _NAME_USER,
    ),
    (
        r"Multiple garbage collectors selected|Conflicting collector combinations",
        _TWO_COLLECTORS,
    ),
    (r"Could not create the Java Virtual Machine", f"the Java at {{java}} does not start: {_INSTALL_JAVA}"),
)
_NOT_FETCHED: Final = (  # the most telling first
    r"unresolved dependenc(?:y|ies): ?(\S+?)(?::|\s|$)",
    r"download failed: ([^\s!]+)",
    r"UnknownHostException: (\S+)",
    r"(Server access error)",
    r"(UNRESOLVED DEPENDENCIES)",
)

# What the folder of a digest makes Spark say; True is a mistake of who named it.
_FOLDER: Final = (
    (
        r"No FileSystem for scheme|Class \S+FileSystem not found",
        True,
        "Spark lacks the jars for this kind of file system: put them into Spark's own folder of jars",
    ),
    (
        "URISyntaxException|Wrong FS|UNSUPPORTED_FILE_SYSTEM|UnsupportedOperationException",
        True,
        "is no folder that Spark can write to and list; it takes /a/path, hdfs://host/path and the like",
    ),
    ("Parent path is not a directory", True, "is a file, or below one: name a folder"),
    (
        "Mkdirs failed to create|Access(?:Control|Denied)Exception|Permission denied|Read-only file system",
        False,
        "cannot be written: see that Spark's user may write there",
    ),
    (r"UnknownHostException: (\S+)", False, "cannot be reached: the name {0} is not known here"),
    (r"ConnectException: (Call From [^;\n]*)", False, "cannot be reached: {0}"),
)

# What Kafka's Java clients and Spark's reader say.
_READING: Final = (
    ("SaslAuthenticationException", True, "it refuses the credentials: see that user and password are right"),
    (
        "SslAuthenticationException|SSLHandshakeException",
        True,
        "the TLS handshake failed: see that the trust store knows the brokers' certificates",
    ),
    (
        "TopicAuthorizationException",
        True,
        "the right to read the topics is missing: grant READ and DESCRIBE on them",
    ),
    (
        "GroupAuthorizationException",
        True,
        "the right on the group is missing: grant READ on groups with the prefix mirrorwatch-checksum",
    ),
    ("ClusterAuthorizationException", True, "it refuses the request: grant DESCRIBE on the topics"),
    (
        "UnknownTopicOrPartitionException|must specify all TopicPartitions|unmatched.{0,20}TopicPartition",
        False,
        "a topic or partition of the plan is not there any more: make the plan anew",
    ),
    ("No resolvable bootstrap urls", False, "no name in bootstrap.servers can be resolved"),
    (
        "Timed out waiting for a node assignment|TimeoutException",
        False,
        "it did not answer in time: see that its brokers are up and reachable from Spark's machines",
    ),
    (
        "Mkdirs failed to create|AccessControlException|AccessDeniedException|Permission denied",
        True,
        "the digest's folder cannot be written: see that Spark's user may write there",
    ),
    (
        "No space left on device",
        False,
        "a disk is full, that of the digest's folder or that of Spark's scratch files (TMPDIR)",
    ),
    (
        "OutOfMemoryError",
        False,
        "Spark ran out of memory: give it more (--driver-memory; on other machines spark.executor.memory)",
    ),
    (
        "ARITHMETIC_OVERFLOW|long overflow",
        False,
        "a record's time lies further from today than Spark can count (292,000 years)",
    ),
    (
        "Failed to find data source: kafka",
        False,
        "Spark has no Kafka connector: give it by --packages, or with Spark's own jars",
    ),
)


def launch_failure(said: str, *, java: str, packages: str | None) -> MirrorwatchError:
    """Return the error for a Spark that did not start, from what its launcher wrote.

    ConfigurationError is for a master that there cannot be, UnavailableError for all else.

    `java` is where Java was looked for, with its version where that is known; `packages` the connector's
    coordinates where it was to be fetched.
    """
    found = re.search(r"Could not parse Master URL: '([^'\n]*)'", said)
    if found is not None:
        known = "local[*], local[4], spark://HOST:PORT, yarn and k8s://HOST:PORT are some that it does"
        sentence = f"'{_clean(found[1])}' is no master that this Spark knows; {known}"
        return ConfigurationError([Problem("the command line", "--master", sentence)])
    for expression, sentence in _LAUNCHING:
        found = re.search(expression, said)
        if found is not None:
            return UnavailableError(sentence.format(*found.groups(), java=java))
    found = next((match for one in _NOT_FETCHED if (match := re.search(one, said))), None)
    if packages is not None and found is not None:
        local = (
            "; a half-filled copy below ~/.m2 or ~/.ivy2 has the same effect: delete it there"
            if "download failed" in said
            else ""
        )
        return UnavailableError(
            f"Spark could not fetch {packages} ({_clean(found[1])}): see that Maven Central, or your mirror "
            f"of it (spark.jars.ivySettings) can be reached{local}; {_BAKED_IN}"
        )
    return UnavailableError(f"Spark did not start; the last it said: {_last_line(said)}")


def folder_failure(text: str, *, path: str) -> MirrorwatchError | None:
    """Return the error for a digest's folder that cannot be used, None where `text` is not about a folder.

    ConfigurationError is for what can be no folder, RefusedError and UnavailableError as elsewhere.
    """
    for expression, mistaken, sentence in _FOLDER:
        found = re.search(expression, text)
        if found is None:
            continue
        told = sentence.format(*map(_clean, found.groups()))
        if mistaken:
            return ConfigurationError([Problem(path, "", told)])
        return RefusedError(f"{path} {told}") if "may write" in told else UnavailableError(f"{path} {told}")
    return None


def reading_failure(text: str, *, cluster: str, doing: str, secrets: Iterable[str] = ()) -> MirrorwatchError:
    """Return the error for a read from `cluster` that failed while `doing`, a noun phrase.

    `text` is the exception's whole text, causes included. RefusedError needs a person, UnavailableError may
    pass, ConfigurationError is a client property that Java does not accept.
    """
    found = re.search(r"ConfigException: ([^\n]*)", text)
    if found is not None:
        said = _clean(_without(found[1], secrets))
        return ConfigurationError(
            [Problem(f"cluster {cluster}", "", f"Kafka's Java client refuses it: {said}")]
        )
    for expression, refused, sentence in _READING:
        if re.search(expression, text):
            told = f"cluster {cluster}: {doing} failed: {sentence}"
            return RefusedError(told) if refused else UnavailableError(told)
    return UnavailableError(f"cluster {cluster}: {doing} failed: {java_cause(_without(text, secrets))}")


def _without(text: str, secrets: Iterable[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        if secret:
            text = text.replace(secret, _HIDDEN)
    return text


def words_of(error: Exception) -> str:
    """Return an exception's whole text; where a socket of Java's broke, the words of Py4J for that."""
    broken = isinstance(error, EOFError | OSError)
    return f"Error while receiving: {type(error).__name__}: {error}" if broken else str(error)


def java_cause(text: str) -> str:
    """Return the innermost cause's line: the ones around it say only that something failed.

    Where Java itself is no more there is no cause, and the sentence is ours.
    """
    if _JAVA_ENDED.search(text):
        return _WHY_IT_ENDED
    causes = re.findall(r"^Caused by: (.*)$", text, re.MULTILINE)
    thrown = re.search(r"^: (.*)$", text, re.MULTILINE)  # as Py4J shows what Java threw
    if causes:
        return _clean(causes[-1])
    if thrown is not None:
        return _clean(thrown[1])
    skipped = ("at ", "...")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(skipped)]
    return _clean(lines[-1]) if lines else "it gave no reason"


def _last_line(said: str) -> str:
    lines = [
        line.strip()
        for line in said.splitlines()
        if line.strip() and not line.lstrip().startswith(("at ", "...", "WARNING:", ":: "))
    ]
    return _clean(lines[-1]) if lines else "nothing"


def _clean(text: str) -> str:
    printable = "".join(char if char.isprintable() else " " for char in text).strip()
    return printable if len(printable) <= _MAX_CHARS else printable[: _MAX_CHARS - 1] + "…"
