"""The one image of the three processes, built without a Docker daemon; docs/adr/0008 says why it is built so."""
