"""Texts of Spark, its launcher and Kafka's Java clients -> errors. Pure.

Java's text is shortened, and the secrets that the caller passes are hidden.
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
    "without internet access, put the connector's jars into Spark's jars folder"
    " (docs/how-to/checksum.md has the command)"
)
_JAVA_ENDED: Final = re.compile(
    "Answer from Java side is empty|to connect to the Java server|Error while (?:sending|receiving)"
    "|CANNOT_OPEN_SOCKET.*Connection (?:refused|reset)"
)
_WHY_IT_ENDED: Final = (
    "Spark's Java process ended; check whether it was killed, or this machine ran out of memory"
)
_INSTALL_JAVA: Final = "install Java 17 or 21 (on Debian: apt-get install openjdk-17-jre-headless)"

_NAME_USER: Final = (
    "Spark needs a user name, and this user id has none; add it to /etc/passwd (under systemd's "
    "DynamicUser, install libnss-systemd)"
)

_TWO_COLLECTORS: Final = (
    "two garbage collectors are set for Java; keep one of them in JAVA_TOOL_OPTIONS, JDK_JAVA_OPTIONS, "
    "_JAVA_OPTIONS and the Java options of spark-defaults.conf"
)

# The launcher's output: regular expression and error text; the first match wins.
_LAUNCHING: Final = (
    (
        r"All masters are unresponsive",
        "no Spark master answers at --master; check that it runs, and that this machine can reach it",
    ),
    (
        r"Master removed our application|Application has been killed|No active SparkContext",
        (
            "Spark's master ended the application before it started; see the logs of its workers, which "
            "start the executors"
        ),
    ),
    (r"JAVA_HOME is not set", f"Java not found; {_INSTALL_JAVA}"),
    (
        r"(\S*/bin/java): (?:No such file|not found|cannot execute|Permission denied)",
        "Spark cannot start {0}; set JAVA_HOME to the folder of Java 17 or 21, or unset it",
    ),
    (r"UnsupportedClassVersionError", f"the Java at {{java}} is too old for Spark; {_INSTALL_JAVA}"),
    (  # Java 23 and later, in the words of 24 (JEP 486) and of 23
        r"getSubject is (?:not supported|supported only if)",
        f"the Java at {{java}} is too new for Spark; {_INSTALL_JAVA}, and set JAVA_HOME to its folder",
    ),
    (
        r"[Mm]odule (jdk\.incubator\.vector) not found",
        f"the Java at {{java}} lacks the module {{0}}, which Spark requires; {_INSTALL_JAVA}",
    ),
    (
        r"(?:Cannot allocate memory|insufficient memory|Could not reserve enough space)",
        "not enough memory to start Spark; lower --driver-memory, or add memory to this machine",
    ),
    (
        r"basedir must be absolute: \?/|invalid null input: name",
        _NAME_USER,
    ),
    (
        r"Multiple garbage collectors selected|Conflicting collector combinations",
        _TWO_COLLECTORS,
    ),
    (r"Could not create the Java Virtual Machine", f"the Java at {{java}} does not start; {_INSTALL_JAVA}"),
)
_NOT_FETCHED: Final = (  # the most specific first
    r"unresolved dependenc(?:y|ies): ?(\S+?)(?::|\s|$)",
    r"download failed: ([^\s!]+)",
    r"UnknownHostException: (\S+)",
    r"(Server access error)",
    r"(UNRESOLVED DEPENDENCIES)",
)

# Spark's errors about a digest's folder: regular expression, our error, and its text.
_FOLDER: Final = (
    (
        r"No FileSystem for scheme|Class \S+FileSystem not found",
        ConfigurationError,
        "Spark lacks the jars for this kind of file system; put them into Spark's jars folder",
    ),
    (
        "URISyntaxException|Wrong FS|UNSUPPORTED_FILE_SYSTEM|UnsupportedOperationException",
        ConfigurationError,
        "not a folder that Spark can write to; use /a/path, hdfs://host/path or the like",
    ),
    ("Parent path is not a directory", ConfigurationError, "is a file, or inside one; name a folder"),
    (
        "Mkdirs failed to create|Access(?:Control|Denied)Exception|Permission denied|Read-only file system",
        RefusedError,
        "cannot write; give Spark's user write permission",
    ),
    (r"UnknownHostException: (\S+)", UnavailableError, "cannot connect: unknown host {0}"),
    (r"ConnectException: (Call From [^;\n]*)", UnavailableError, "cannot connect: {0}"),
)

# Errors of Kafka's Java clients and Spark's reader; True: RefusedError.
_READING: Final = (
    ("SaslAuthenticationException", True, "invalid credentials; check user and password"),
    (
        "SslAuthenticationException|SSLHandshakeException",
        True,
        "TLS handshake failed; check that the trust store has the brokers' certificates",
    ),
    (
        "TopicAuthorizationException",
        True,
        "no permission to read the topics; grant READ and DESCRIBE on them",
    ),
    (
        "GroupAuthorizationException",
        True,
        "no permission on the group; grant READ on groups with the prefix mirrorwatch-checksum",
    ),
    ("ClusterAuthorizationException", True, "no permission; grant DESCRIBE on the topics"),
    (
        "UnknownTopicOrPartitionException|must specify all TopicPartitions|unmatched.{0,20}TopicPartition",
        False,
        "a topic or partition of the plan no longer exists; plan again",
    ),
    ("No resolvable bootstrap urls", False, "cannot resolve any host of bootstrap.servers"),
    (
        "Timed out waiting for a node assignment|TimeoutException",
        False,
        "no answer in time; check that the brokers are up and reachable from Spark's machines",
    ),
    (
        "Mkdirs failed to create|AccessControlException|AccessDeniedException|Permission denied",
        True,
        "cannot write to the digest's folder; give Spark's user write permission",
    ),
    (
        "No space left on device",
        False,
        "disk full; free space for the digest's folder and for Spark's temporary files (TMPDIR)",
    ),
    (
        "OutOfMemoryError",
        False,
        "Spark ran out of memory; raise --driver-memory, or spark.executor.memory for other machines",
    ),
    (
        "ARITHMETIC_OVERFLOW|long overflow",
        False,
        "a record's timestamp is out of Spark's range (292,000 years from today)",
    ),
    (
        "Failed to find data source: kafka",
        False,
        "Spark has no Kafka connector; add it with --packages, or to Spark's jars folder",
    ),
)


def launch_failure(said: str, *, java: str, packages: str | None) -> MirrorwatchError:
    """Return the error for a Spark that did not start, from its launcher's output.

    ConfigurationError for an invalid master, UnavailableError otherwise. `java` is where Java was searched,
    with its version if known; `packages` are the connector's coordinates if it had to be downloaded.
    """
    found = re.search(r"Could not parse Master URL: '([^'\n]*)'", said)
    if found is not None:
        known = "use for example local[*], local[4], spark://HOST:PORT, yarn or k8s://HOST:PORT"
        sentence = f"unknown master '{_clean(found[1])}'; {known}"
        return ConfigurationError([Problem("the command line", "--master", sentence)])
    for expression, sentence in _LAUNCHING:
        found = re.search(expression, said)
        if found is not None:
            return UnavailableError(sentence.format(*found.groups(), java=java))
    found = next((match for one in _NOT_FETCHED if (match := re.search(one, said))), None)
    if packages is not None and found is not None:
        local = "; if ~/.m2 or ~/.ivy2 has an incomplete copy, delete it" if "download failed" in said else ""
        return UnavailableError(
            f"Spark cannot download {packages} ({_clean(found[1])}); check that Maven Central, or your "
            f"mirror of it (spark.jars.ivySettings), can be reached{local}; {_BAKED_IN}"
        )
    return UnavailableError(f"Spark did not start; its last output: {_last_line(said)}")


def folder_failure(text: str, *, path: str) -> MirrorwatchError | None:
    """Return the error for an unusable digest folder, or None if `text` is not about a folder.

    ConfigurationError for an invalid folder, RefusedError without permission, UnavailableError otherwise.
    """
    for expression, kind, sentence in _FOLDER:
        found = re.search(expression, text)
        if found is None:
            continue
        text = sentence.format(*map(_clean, found.groups()))
        problem = Problem(path, "", text)
        if kind is ConfigurationError:
            return ConfigurationError([problem])
        return RefusedError(str(problem)) if kind is RefusedError else UnavailableError(str(problem))
    return None


def reading_failure(text: str, *, cluster: str, doing: str, secrets: Iterable[str] = ()) -> MirrorwatchError:
    """Return the error for a read from `cluster` that failed while `doing`, a noun phrase.

    `text` is the exception's whole text with its causes. RefusedError means a missing permission,
    UnavailableError may pass, ConfigurationError is a client property that Java rejects.
    """
    found = re.search(r"ConfigException: ([^\n]*)", text)
    if found is not None:
        said = _clean(_without(found[1], secrets))
        return ConfigurationError(
            [Problem(f"cluster {cluster}", "", f"Kafka's Java client rejects its properties: {said}")]
        )
    for expression, refused, sentence in _READING:
        if re.search(expression, text):
            text = f"cluster {cluster}: {doing} failed: {sentence}"
            return RefusedError(text) if refused else UnavailableError(text)
    return UnavailableError(f"cluster {cluster}: {doing} failed: {java_cause(_without(text, secrets))}")


def _without(text: str, secrets: Iterable[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        if secret:
            text = text.replace(secret, _HIDDEN)
    return text


def failure_text(error: Exception) -> str:
    """Return an exception's text; for a broken socket, Py4J's text for that."""
    broken = isinstance(error, EOFError | OSError)
    return f"Error while receiving: {type(error).__name__}: {error}" if broken else str(error)


def java_cause(text: str) -> str:
    """Return the innermost cause, or our text if Java itself has ended."""
    if _JAVA_ENDED.search(text):
        return _WHY_IT_ENDED
    causes = re.findall(r"^Caused by: (.*)$", text, re.MULTILINE)
    thrown = re.search(r"^: (.*)$", text, re.MULTILINE)  # Py4J's form of a Java exception
    if causes:
        return _clean(causes[-1])
    if thrown is not None:
        return _clean(thrown[1])
    skipped = ("at ", "...")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(skipped)]
    return _clean(lines[-1]) if lines else "no reason given"


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
