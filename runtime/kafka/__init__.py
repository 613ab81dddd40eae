"""Kafka clients: Java client properties become librdkafka's settings, and its errors become sentences."""
