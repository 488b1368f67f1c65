"""History of usage from Prometheus: what is asked, what of the answers counts, and where it goes."""
