"""The part of the updater that reads the cluster and acts on it."""
