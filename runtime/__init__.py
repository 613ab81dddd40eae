"""The shell around the pure parts: Kafka clients, clock, HTTP, store, logs.

kafka/    clients of Kafka: Java client properties become librdkafka's settings, and its errors sentences
http/     HTTP: the server, a client, parameters, problems, users
store/    the store: SQLite or PostgreSQL, migrations, rows and days
config/   the sections `http` and `store`, strict YAML, values and problems of a configuration
process/  the process: clock, logs, signals, supervision, memory
files/    files that are written whole, and folders that one command owns
build     the version, the revision that it was built from, and the version of Python
"""
