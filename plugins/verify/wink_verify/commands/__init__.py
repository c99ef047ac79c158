"""The command that checks a record."""
