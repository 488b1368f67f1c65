"""The two recommenders on the same made-up cluster: the statuses and checkpoints that each of them leaves."""
