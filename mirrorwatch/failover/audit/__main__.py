"""`python -m mirrorwatch.failover.audit`: the audit's process, which the service starts."""

from runtime.process.child import leave_signals_to_the_service

leave_signals_to_the_service()

from mirrorwatch.failover.audit.process import main  # noqa: E402 - see above

main()
