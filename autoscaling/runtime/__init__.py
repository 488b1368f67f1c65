"""What every process needs around its work: flags, logs, metrics, signals, periodic jobs."""
