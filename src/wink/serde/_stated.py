"""What an annotation and a default say of a field, also where pydantic's `Field` or `Annotated` says it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING
from typing import Annotated, Any, Final, NamedTuple, cast, get_origin

from wink.errors import SerdeError

_CONSTRAINTS: Final[Mapping[str, tuple[str, str]]] = {
    "Ge": ("ge", "ge"),
    "Gt": ("gt", "gt"),
    "Le": ("le", "le"),
    "Lt": ("lt", "lt"),
    "MinLen": ("min_length", "min_length"),
    "MaxLen": ("max_length", "max_length"),
}
"""Class of `annotated_types` → its attribute, and the key of a field's metadata that means the same."""


class Stated(NamedTuple):
    """A field as its author meant it.

    `annotation` is without what is in `metadata`, which has the keys of a dataclass field's: `description`, `alias` and the
    constraints. `default` and `default_factory` are `dataclasses.MISSING` where there is none.
    """

    annotation: Any
    default: Any
    default_factory: Any
    metadata: Mapping[str, Any]


def stated(annotation: Any, default: Any = MISSING) -> Stated:
    """Read `Annotated[int, "how many"]`, `Annotated[int, Field(ge=1)]`, or the default `Field(1, ge=1)`.

    A plain string in `Annotated`, or `typing_extensions.Doc`, is the description. Raises `SerdeError` for what of `Field` has
    no meaning here.

    >>> stated(Annotated[int, "how many"]).metadata
    {'description': 'how many'}
    """
    if get_origin(annotation) is not Annotated and not _is_field(default):
        return Stated(annotation, default, MISSING, {})
    metadata: dict[str, Any] = {}
    factory: Any = MISSING
    kept: list[Any] = []
    said: list[Any] = []
    while get_origin(annotation) is Annotated:
        said = [*annotation.__metadata__, *said]
        annotation = annotation.__origin__
    if _is_field(default):
        said.append(default)
        default = MISSING
    for one in said:
        if not _is_field(one):
            kept += _unclaimed((one,), metadata)
            continue
        kept += _unclaimed(one.metadata, metadata)
        metadata |= {key: text for key, text in (("description", one.description), ("alias", _alias(one))) if text}
        if one.default_factory is not None:
            if one.default_factory_takes_validated_data:
                raise SerdeError("Field", "default_factory takes no arguments here")
            factory = one.default_factory
        elif not one.is_required() and default is MISSING:
            default = one.default
    if kept:
        annotation = cast("Any", Annotated)[(annotation, *kept)]
    return Stated(annotation, default, factory if default is MISSING else MISSING, metadata)


def _is_field(value: object) -> bool:
    kind = type(value)
    return kind.__name__ == "FieldInfo" and kind.__module__ == "pydantic.fields"


def _unclaimed(said: Iterable[Any], metadata: dict[str, Any]) -> Iterator[Any]:
    """Take what has a key of ours into `metadata`, and give back the rest, which is pydantic's."""
    for one in said:
        if isinstance(one, str):
            metadata["description"] = one
            continue
        text = getattr(one, "documentation", None)
        if isinstance(text, str) and type(one).__name__ == "Doc":
            metadata["description"] = text
            continue
        if getattr(one, "__is_annotated_types_grouped_metadata__", False):
            yield from _unclaimed(one, metadata)
            continue
        name, key = _CONSTRAINTS.get(type(one).__name__, ("", ""))
        general: dict[str, Any] = getattr(one, "__dict__", {}) if "Metadata" in type(one).__name__ else {}
        if key and hasattr(one, name):
            metadata[key] = getattr(one, name)
        elif set(general) == {"pattern"}:
            metadata["regex"] = general["pattern"]
        else:
            yield one


def _alias(field: Any) -> str:
    alias = field.validation_alias or field.alias or ""
    if not isinstance(alias, str):
        raise SerdeError("Field", f"{type(alias).__name__} is no alias that can be written too; give a string")
    return alias
