"""Scenarios: a cluster, what happens to it, and the state that has to come of it, each written in one file."""
