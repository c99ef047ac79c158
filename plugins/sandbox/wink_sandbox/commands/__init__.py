"""`wink try`, `wink accept`, `wink drop` and `wink tries`, and what `wink doctor`, `wink diff` and `wink gc` ask of this plugin."""
