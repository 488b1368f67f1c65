"""What the command line says about a cluster: snapshots in, tables and verdicts out, nothing read or printed here."""
