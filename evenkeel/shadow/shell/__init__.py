"""Reading both groups, and carrying out what is planned."""
