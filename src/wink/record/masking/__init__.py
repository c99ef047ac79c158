"""Secrets in what is about to be stored, found and masked."""

from wink.record.masking._masking import DEFAULT, MASK, Masking, is_masked, masked, masked_call, shown, stored

__all__ = ["DEFAULT", "MASK", "Masking", "is_masked", "masked", "masked_call", "shown", "stored"]
