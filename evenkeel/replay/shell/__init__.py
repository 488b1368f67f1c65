"""What replay reads and writes."""
