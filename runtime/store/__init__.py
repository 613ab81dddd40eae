"""The store: SQLite or PostgreSQL, migrations, rows and days.

store       the store
address     which database the store is in
days        days of a table of minutes that are kept as one row each
engine      open a database so that every finished write survives kill -9 and a power cut
errors      translate what a database says into sentences
migrations  how a store's tables came to be
postgresql  say in sentences what PostgreSQL and its client say
rows        write rows of a store's table whole
"""
