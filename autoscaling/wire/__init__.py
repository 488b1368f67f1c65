"""Objects as they travel: JSON in, snapshots out, and back."""
