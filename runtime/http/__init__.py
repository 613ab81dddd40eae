"""The HTTP server, a client, parameters, problems, users, bounds, the audit log.

server      the HTTP server
guards      what every request passes: headers, errors, time limit, sign-in
tls         certificates, reloaded when their files change
bounds      most connections, requests and failed sign-ins
audit       log of requests that change something
users       basic authentication and bearer tokens
parameters  query parameters
problems    API errors as RFC 9457
refusals    answer and log of requests that are not valid HTTP
client      one bounded HTTP request
"""
