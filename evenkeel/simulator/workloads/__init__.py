"""What simulated containers do: how much they use, when they are ready, when they end."""
