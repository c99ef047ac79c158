"""`wink attach` and `wink detach`, and what `wink doctor` is told."""
