"""Share a bill among people."""
