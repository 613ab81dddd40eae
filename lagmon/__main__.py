"""`python -m lagmon`: the ingest process, which the service starts."""

import signal

# Who sends SIGHUP to all of the service's processes asks the service for a reload, and it tells us of that.
# Before the other imports, which take most of a second: until then the signal would end us.
signal.signal(signal.SIGHUP, signal.SIG_IGN)

from lagmon.ingest import main  # noqa: E402 - see above

main()
