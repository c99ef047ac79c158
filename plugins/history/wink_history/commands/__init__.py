"""The command that reads the history."""
