"""What runs in the process that evaluates: the standard library and asteval, nothing of wink."""
