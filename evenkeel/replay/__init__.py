"""Replay of recorded use: how good the recommendations of strategies would have been (spec: quality, beyond:B-36)."""
