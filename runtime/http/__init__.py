"""HTTP: the server, a client, parameters, problems, users.

server      the HTTP server
client      one bounded request to a service of others
guards      what every request passes
parameters  parameters of a query, declared once
problems    refusals of the API as RFC 9457 has them
refusals    what the HTTP library says of requests that never come to a handler
users       who may ask
"""
