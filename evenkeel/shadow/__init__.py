"""Twins in our own group of upstream's autoscalers, for our recommender to serve beside upstream's."""
