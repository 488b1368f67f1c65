"""The two webhooks on the same made-up cluster: what each of them answers to the same reviews."""
