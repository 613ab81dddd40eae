"""The HTTP server, a client, parameters, problems, users.

server      the HTTP server
guards      what every request passes: headers, errors, time limit, sign-in
users       basic authentication and bearer tokens
parameters  query parameters
problems    API errors as RFC 9457
refusals    log of requests that are not valid HTTP
client      one bounded HTTP request
"""
