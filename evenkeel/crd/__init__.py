"""The custom resources of both API groups, as the definitions an API server takes."""
