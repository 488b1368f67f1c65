"""Benchmarks against upstream's Go programs, one module per row, all run the same way."""
