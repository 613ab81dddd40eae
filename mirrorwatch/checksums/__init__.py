"""The checksum commands: plan, run, digest, compare, and counts.

session    what every checksum command needs: configuration, clients, clock, output
flows      one command for each chosen flow, and the combined exit status
plan       `mirrorwatch checksum plan`
run        `mirrorwatch checksum run`
counts     `mirrorwatch checksum run --counts-only`
sites      `mirrorwatch checksum digest` and `compare`
folder     plans and digests of unfinished runs
state      state of a command in the store
syncs      offset syncs that the service stored
spark      Spark for one command
log        Spark's log of a failed run
pace       progress of reading one side: share, rate, time left
progress   display of that progress
interrupt  exit soon after Ctrl-C
threads    threads for the store and for the heartbeat
submit     `checksum run --print-submit`
submitted  the script that spark-submit runs
results    printed, written and reported results
"""
