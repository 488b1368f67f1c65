"""JSON that only the updater reads."""
