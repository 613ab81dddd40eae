"""The brokers' default for the longest transaction.

Separate from `logs/hanging.py`, so that the service does not load NumPy for it.
"""

LONGEST_MS = 900_000  # the default of `transaction.max.timeout.ms`
