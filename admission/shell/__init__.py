"""The part of the admission controller that serves, registers and renews certificates."""
