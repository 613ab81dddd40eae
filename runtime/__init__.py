"""Infrastructure: Kafka clients, clock, HTTP, store, logs.

process/  the process: clock, logs, signals, supervision, memory
config/   sections `http` and `store`, strict YAML, values and problems of a configuration
files/    files that are written atomically, and folders that one command owns
kafka/    Kafka clients: translated properties, readable errors
store/    the store: SQLite or PostgreSQL, migrations, rows and days
http/     the HTTP server, a client, parameters, problems, users
build     version, revision and Python version
"""
