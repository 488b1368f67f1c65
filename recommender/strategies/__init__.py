"""Strategies: how samples of use become recommendations (spec: beyond:B-10)."""
