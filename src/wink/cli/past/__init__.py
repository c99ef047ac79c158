"""Commands that look at what was done on a workspace, take it back, keep it, and hand it on."""
