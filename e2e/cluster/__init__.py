"""The life cycle of a real Kubernetes cluster on one Linux machine, without Docker and without an image registry."""
