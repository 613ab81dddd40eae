"""`python -m lagmon`: the ingest process, which the service starts."""

import signal
import sys

# Who sends SIGHUP to all of the service's processes asks the service for a reload, and it tells us of that;
# who presses Ctrl-C asks it to stop, and it tells us when. Before the other imports, which take most of a
# second: either would end us until then, Ctrl-C with a traceback. Up to here the service has kept both off.
HEEDED_BY_THE_SERVICE = (signal.SIGHUP, signal.SIGINT)
for one in HEEDED_BY_THE_SERVICE:
    signal.signal(one, signal.SIG_IGN)  # handed down to whom we start
signal.pthread_sigmask(signal.SIG_UNBLOCK, HEEDED_BY_THE_SERVICE)

# asyncio loads TLS if it is to be had, which takes 2 MiB, and nobody here speaks it by Python: the Kafka
# client has its own. Without the module asyncio does without, as where Python was built so.
sys.modules["ssl"] = None  # type: ignore[assignment]
import asyncio  # noqa: E402, F401 - see above

del sys.modules["ssl"]  # whoever asks for it from here on gets it

from lagmon.ingest.process import main  # noqa: E402 - see above

main()
