"""What the canary keeps in the store, and how the next process takes over.

bookkeeper  saves changes every second, and loads them at the start
saving      the two transactions of the bookkeeper
tables      tables of counters, coverage and findings
leases      processes on one store, and take-over from a dead one
inherited   state that a flow starts with
latches     sources that get no more probes
history     reads the stored minutes
"""
