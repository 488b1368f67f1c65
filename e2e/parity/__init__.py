"""Parity with upstream VPA 1.8.1: generated cases, answered by our cores and by upstream's own packages."""
