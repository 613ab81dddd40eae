"""Tests of answers for all shards."""
