"""The ways in which a type can be read."""

from typing import Final, Literal, get_args

from wink.dataclass import dataclass

Extra = Literal["forbid", "ignore", "allow"]
"""What to do with keys that a dataclass does not have: refuse them, drop them, or keep them for `extras`."""

EXTRAS: Final[tuple[str, ...]] = get_args(Extra)


@dataclass(frozen=True, slots=True)
class Reading:
    """One way of reading a type; `aliases` renames fields of the outermost dataclass."""

    extra: Extra
    coerce: bool = False
    aliases: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.extra not in EXTRAS:
            raise ValueError(f"extra must be 'forbid', 'ignore' or 'allow', not {self.extra!r}")
