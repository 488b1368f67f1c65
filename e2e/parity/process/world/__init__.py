"""Clusters made up by chance from a seed: workloads, VPAs and what surrounds them."""
