"""The HTTP surface of the embedded API server."""
