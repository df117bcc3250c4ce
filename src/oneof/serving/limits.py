"""Limits of the server of predictions, without its packages, for the defaults of the command line."""

DEFAULT_PORT = 8000
MAX_ROWS = 1_000
MAX_BODY_BYTES = 4 * 2**20
MAX_BODY_SECONDS = 30.0
"""Time in which the body of a request must arrive."""
MAX_REQUESTS = 100
"""Number of open requests from which further ones are refused with status 503."""
MAX_CONNECTIONS = 500
"""Number of open connections from which the web server refuses requests with status 503."""
