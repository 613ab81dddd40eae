"""The shell around the pure parts: Kafka clients, clock, HTTP, store, logs."""
