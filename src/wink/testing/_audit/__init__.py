"""Watch what a handler does to the machine beside its handle, and hold it against the effects that its tool declares."""

from wink.testing._audit._watch import Watch, audit_effects

__all__ = ["Watch", "audit_effects"]
