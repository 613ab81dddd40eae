"""The process: clock, logs, signals, supervision, memory.

clock           the one place where time is read
logs            logs, set up once by the composition root
logs_structlog  structlog without rich, which it loads only because it is there
logs_text       write a log event as one line for people
supervision     keep one piece of work alive
shutdown        signals
worker          a process of ours that works beside the service
channel         questions and answers between two processes of ours
identity        which process wrote something
memory          memory of a process that holds much for long
limits          room for many clusters in one process
loop            one event loop for one piece of work
allowance       how often something may be done
complaints      what needs a person
"""
