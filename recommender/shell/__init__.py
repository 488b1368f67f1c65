"""The part of the recommender that reads the cluster and writes to it."""
