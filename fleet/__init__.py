"""The pure model: topology, replication, wire formats, series, verdicts. Standard library only."""
