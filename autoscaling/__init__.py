"""The shared vocabulary of the three processes, named after the Kubernetes API group."""
