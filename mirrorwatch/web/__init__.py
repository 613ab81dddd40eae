"""HTTP: pages, JSON documents, and the texts that both share.

documents           the JSON documents of /api/v1, drawn from what the service shows of itself
incident_documents  the documents of /api/v1/incidents
linking             addresses that pages, API and alerts link to
texts               texts that the pages and `mirrorwatch status` share
pages               the pages
routes              the routes, by subject
"""
