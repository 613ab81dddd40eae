"""Spark sessions, settings, and error texts.

session      start and stop Spark
settings     the properties with which Spark starts
paths        absolute paths for Spark's Java process, which runs in another folder
failures     texts of Spark, its launcher and Kafka's Java clients -> errors
submit_line  the spark-submit command for a run
"""
