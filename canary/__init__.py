"""A synthetic record per source partition and tick, timed at every step by one process."""
