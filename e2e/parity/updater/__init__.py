"""What is compared of the updater."""
