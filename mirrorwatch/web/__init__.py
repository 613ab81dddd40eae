"""What is answered over HTTP: pages, documents, and the words that both share.

documents           the JSON documents of /api/v1, drawn from what the service shows of itself
incident_documents  the documents of /api/v1/incidents
incident_words      incidents in words
linking             addresses that pages, API and alerts link to
words               the words and numbers that page and table share
pages               the pages
routes              the routes, by subject
"""
