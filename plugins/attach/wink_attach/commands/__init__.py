"""`wink attach`, `wink detach` and `wink rewind`, and what `wink doctor` is told."""
