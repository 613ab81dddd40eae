"""`python -m lagmon`: the ingest process, which the service starts."""

from lagmon.ingest import main

main()
