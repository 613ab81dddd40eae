"""The store: SQLite or PostgreSQL, migrations, rows and days.

store       reads and writes in short transactions
address     database address
engine      opens a database with durable writes
migrations  numbered steps that create and change tables
leases      names that one process holds at a time
rows        replaces rows of a table
days        compacts days of minutes into one row each
errors      sentences for database errors
postgresql  sentences for PostgreSQL's errors
"""
