"""What is compared of the recommender."""
