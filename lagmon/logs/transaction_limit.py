"""For how long brokers let a transaction be open, where nobody says otherwise.

Apart from `logs/hanging.py`, which judges by it, so that the service, which passes it on, loads no NumPy.
"""

LONGEST_MS = 900_000  # the brokers' own default of `transaction.max.timeout.ms`
