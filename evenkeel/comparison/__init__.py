"""Our recommendations beside upstream's: how far apart, which is nearer to what is used, and why."""
