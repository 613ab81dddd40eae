"""`python -m lagmon`: the ingest process, which the service starts."""

import sys

# asyncio loads TLS if it is to be had, which takes 2 MiB, and nobody here speaks it by Python: the Kafka
# client has its own. Without the module asyncio does without, as where Python was built so.
sys.modules["ssl"] = None  # type: ignore[assignment]
import asyncio  # noqa: E402, F401 - see above

del sys.modules["ssl"]  # whoever asks for it from here on gets it

from runtime.process.child import leave_signals_to_the_service  # noqa: E402 - see above

leave_signals_to_the_service()

from lagmon.ingest.process import main  # noqa: E402 - see above

main()
