"""What each person is told."""

from invoice.money import split, text


def bill(lines, people):
    """The share of each person, in words."""
    total = sum(line.amount for line in lines)
    return [f"person {number} pays {text(share)}" for number, share in enumerate(split(total, people), 1)]
