"""What PySpark raises where rows are asked for."""

from __future__ import annotations

from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

# Rows come by a socket of Java's, not by Py4J.
READING_ERRORS: Final = (PySparkException, Py4JError, EOFError, OSError)
