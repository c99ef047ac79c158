"""The commands that write sessions into files, and read them."""
