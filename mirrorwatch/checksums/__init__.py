"""The commands of the checksum: plan, run, digest, compare, and counts.

desk       what every command of the checksum works with
flows      the same command for each chosen flow, and one exit status for all
plan       `mirrorwatch checksum plan`
run        `mirrorwatch checksum run`
counts     `mirrorwatch checksum run --counts-only`
sites      `mirrorwatch checksum digest` and `compare`
folder     plans with their digests beside the store, so that a run that was killed is gone on with
state      what a command of the checksum keeps in the store of the configuration
syncs      offset syncs that the service kept in the store, as the checksum takes them
spark      spark for one command
log        what Spark's Java said in a run that failed, kept beside the store
pace       how far a side's reading is, how fast, and how long it will take
progress   show how far the reading of both sides is
leaving    leave soon after Ctrl-C, whatever is under way
threads    threads beside a command that works between event loops
submit     `checksum run --print-submit`
submitted  what spark-submit runs
results    what came of a run
"""
