"""Simulated nodes: kubelets with their resize machinery, and the container runtime below them."""
