"""The recommender: usage samples to decaying histograms to recommendations."""
