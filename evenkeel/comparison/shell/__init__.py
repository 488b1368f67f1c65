"""Reading both groups, flags, and what containers use."""
