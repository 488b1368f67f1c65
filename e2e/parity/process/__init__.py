"""Whole processes side by side: upstream's own programs and ours, each on its own copy of the same cluster."""
