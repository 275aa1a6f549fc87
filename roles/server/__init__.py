"""The doing: deploy, status, logs, teardown, each a short story in domain verbs. docs/api.md shows how to call them."""
