"""A real Prometheus on the loopback interface, with a past that was made up."""
