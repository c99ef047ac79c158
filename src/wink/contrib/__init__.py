"""Sections that come with wink, under the name that the documents of the specification import them by."""
