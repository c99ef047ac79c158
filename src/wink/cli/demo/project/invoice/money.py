"""Amounts of money, as whole cents."""


def split(amount, people):
    """Share an amount among people as evenly as whole cents allow."""
    share = amount // people
    return [share] * people


def text(cents):
    """An amount as people write it."""
    return f"{cents // 100}.{cents % 100:02d}"
