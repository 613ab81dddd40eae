"""HTTP: pages, JSON documents, and the texts that both share.

documents  the JSON documents of /api/v1
linking    addresses of pages, runbooks and dashboards
texts      texts that the pages and `mirrorwatch status` share
pages      contents of pages, and their charts
replicas   answers for all shards of a group of replicas
routes     the routes, by subject
"""
