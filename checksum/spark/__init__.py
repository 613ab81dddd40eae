"""Spark itself: sessions, settings, failures in plain sentences.

errors       what PySpark raises where rows are asked for
failures     turn what Spark, its launcher and Kafka's Java clients say into one sentence for a person
paths        paths as they were typed, made absolute before Spark's Java starts in another folder than ours
session      start Spark and stop it again
settings     what Spark is started with
submit_line  the spark-submit line that runs a command of the checksum on any master
"""
