"""What is compared of the admission controller."""
