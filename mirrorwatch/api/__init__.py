"""The API under /api/v1 as one table: operations, parameters, problems, and the schema of every document.

- `shapes`: how a schema is written down
- `operations`: what an operation is, and how its route is registered
- `flows`, `incidents`, `offsets`, `counts`, `operator`, `groups`, `failover`, `checksums`,
  `about`: operations, schemas
- `table`: all of them
- `openapi`: the OpenAPI document made of the table
- `reference`: docs/reference/api.md made of the same
"""
