"""The API under /api/v1 as one table: operations, parameters, problems, and the schema of every document.

- `shapes`: how a schema is written down
- `operations`: what an operation is, and how its route is registered
- `flows`, `counts`: operations and schemas
- `table`: all of them
"""
