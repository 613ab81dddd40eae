"""PySpark's exceptions while rows are read."""

from __future__ import annotations

from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

# Rows are read from a socket, not through Py4J.
READING_ERRORS: Final = (PySparkException, Py4JError, EOFError, OSError)
