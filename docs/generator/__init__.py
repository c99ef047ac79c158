"""What each generated part of the reference says; one module a page."""
