"""The real processes, run as processes of their own against a simulated cluster."""
