"""The two updaters on the same made-up cluster: what each of them asks of the API server, round by round."""
