"""The admission controller: sets the resources of pods as they are created."""
