"""What pytest is to leave alone."""

collect_ignore = ["warmed.py"]  # it makes calls when it is imported, for a process that has nothing else to do
