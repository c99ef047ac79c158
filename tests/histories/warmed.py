"""Imported by the process that forks the callers, so that each of them starts as if it had made calls before."""

from .caller import warm_up

warm_up()
