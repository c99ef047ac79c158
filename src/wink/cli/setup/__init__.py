"""Commands about this installation: its plugins, and what this machine can do."""
