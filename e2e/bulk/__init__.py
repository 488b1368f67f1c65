"""Many generated pods put to a real API server whose webhook is ours: it must take what it takes without us."""
