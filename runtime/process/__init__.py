"""The process: clock, logs, signals, supervision, memory.

clock           the only place that reads the time
loop            runs a coroutine in its own event loop
shutdown        signals
supervision     restarts work after an outside fault
worker          a second process beside the service
child           what such a process does with signals, orders and its end
channel         requests between two processes
identity        identity of a process, to detect whether it still runs
limits          limits for many clusters in one process
memory          returns freed memory to the system
allowance       rate limit
complaints      problems, logged once and repeated rarely
logs            log setup and redaction
logs_structlog  loads structlog without rich
logs_text       a log event as one line of text
"""
