"""Describe a type as JSON Schema 2020-12."""

import inspect
import json
from dataclasses import MISSING
from typing import Any, Final, Literal, get_args, get_origin

from wink.errors import SerdeError
from wink.serde._dump import dump
from wink.serde._fields import FieldPlan
from wink.serde._parse import compiled
from wink.serde._reading import Extra, Reading
from wink.serde._shapes import Shape, applies, fields_of, shape_of, type_name

_texts: dict[object, str] = {}
_KEYWORDS: Final = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
_LEAVES: Final[dict[Any, dict[str, Any]]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    Any: {},
    object: {},
}
_EMPTY: Final[dict[Any, Any]] = {list: [], tuple: [], set: [], frozenset: [], dict: {}}


def schema(cls: Any, *, extra: Extra = "forbid") -> dict[str, Any]:
    """JSON Schema 2020-12 for what `parse(cls, ..., extra=extra)` accepts; a new dict each time.

    It stands alone (recursive types and types used twice are in `$defs`), has no titles, and describes the keys, not the Python names.

    >>> from dataclasses import dataclass, field
    >>> @dataclass
    ... class Lookup:
    ...     id: str = field(metadata={"description": "what to fetch", "min_length": 1})
    >>> schema(Lookup)["properties"]
    {'id': {'type': 'string', 'minLength': 1, 'description': 'what to fetch'}}
    """
    key = (cls, extra)
    text = _texts.get(key)
    if text is None:
        compiled(cls, extra)  # refuses what parse would refuse, with the same words
        text = _texts[key] = json.dumps(_Describer(extra).document(cls))
    return json.loads(text)


class _Describer:
    def __init__(self, extra: Extra) -> None:
        self._extra: Extra = extra
        self._names: dict[object, str] = {}
        self._definitions: dict[str, dict[str, Any]] = {}

    def document(self, annotation: Any) -> dict[str, Any]:
        shape = shape_of(annotation)
        if shape.kind == "dataclass" and not shape.nullable:
            name = self._define(shape)
            root = self._definitions[name]
            if f'"#/$defs/{name}"' not in json.dumps([root, self._definitions]):
                del self._definitions[name]
        else:
            root = self._describe(annotation)
        # Providers want an object at the root, so the root is repeated there even when it is also a definition.
        return {**root, "$defs": self._definitions} if self._definitions else dict(root)

    def _describe(self, annotation: Any) -> dict[str, Any]:
        shape = shape_of(annotation)
        described = self._bare(shape)
        if shape.metadata and shape.kind == "leaf":
            described = self._leaf(annotation if not shape.nullable else _annotated(shape))
        if shape.nullable:
            members = described["anyOf"] if set(described) == {"anyOf"} else [described]
            return {"anyOf": [*members, {"type": "null"}]}
        return described

    def _bare(self, shape: Shape) -> dict[str, Any]:
        match shape.kind:
            case "dataclass":
                return {"$ref": f"#/$defs/{self._define(shape)}"}
            case "union":
                return {"anyOf": [self._describe(member) for member in shape.args]}
            case "items":
                described: dict[str, Any] = {"type": "array", "items": self._describe(shape.args[0])}
                if isinstance(shape.type, type) and issubclass(shape.type, (set, frozenset)):
                    described["uniqueItems"] = True
                return described
            case "tuple":
                items = [self._describe(part) for part in shape.args]
                return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
            case "mapping":
                described = {"type": "object", "additionalProperties": self._describe(shape.args[1])}
                if shape.args[0] not in (str, Any):
                    described["propertyNames"] = self._describe(shape.args[0])
                return described
            case _:
                return self._leaf(shape.type)

    def _define(self, shape: Shape) -> str:
        key = (shape.type, shape.args)
        name = self._names.get(key)
        if name is None:
            name = _unused(type_name(shape.type), self._definitions)
            self._names[key] = name
            self._definitions[name] = {}
            self._definitions[name] = self._dataclass(shape)
        return name

    def _dataclass(self, shape: Shape) -> dict[str, Any]:
        described: dict[str, Any] = {"type": "object"}
        about = _docstring(shape.type)
        if about:
            described["description"] = about
        fields = [(plan, annotation) for plan, annotation in fields_of(shape) if plan.in_init]
        described["properties"] = {plan.key: self._field(plan, annotation) for plan, annotation in fields}
        required = [plan.key for plan, _ in fields if plan.required]
        if required:
            described["required"] = required
        described["additionalProperties"] = self._extra != "forbid"
        return described

    def _field(self, plan: FieldPlan, annotation: Any) -> dict[str, Any]:
        described = dict(self._describe(annotation))
        if plan.constraints:
            shape = shape_of(annotation)
            if "anyOf" in described:
                members = list(shape.args) if shape.kind == "union" else [annotation]
                described["anyOf"] = [
                    {**part, **_limits(plan, member)}
                    for part, member in zip(described["anyOf"], [*members, None], strict=False)
                ]
            else:
                described |= _limits(plan, annotation)
        if plan.description:
            described["description"] = plan.description
        default = _default(plan)
        if default is not MISSING:
            described["default"] = default
        return described

    def _leaf(self, annotation: Any) -> dict[str, Any]:
        if (isinstance(annotation, type) or annotation is Any) and annotation in _LEAVES:
            return dict(_LEAVES[annotation])
        choices = get_args(annotation) if get_origin(annotation) is Literal else ()
        if choices and all(type(choice) is str for choice in choices):
            choices = tuple(dict.fromkeys(choices))
            return (
                {"const": choices[0], "type": "string"} if len(choices) == 1 else {"enum": [*choices], "type": "string"}
            )
        from pydantic.errors import PydanticInvalidForJsonSchema

        from wink.serde._adapters import compile_adapter

        try:
            described = compile_adapter(annotation, Reading(self._extra)).json_schema()
        except PydanticInvalidForJsonSchema as error:
            raise SerdeError(type_name(annotation), "has no JSON Schema; use a dataclass or a JSON type") from error
        described.pop("title", None)
        self._definitions |= described.pop("$defs", {})
        return described


def _annotated(shape: Shape) -> Any:
    from typing import Annotated, cast

    return cast("Any", Annotated)[(shape.type, *shape.metadata)]


def _limits(plan: FieldPlan, annotation: Any) -> dict[str, Any]:
    if annotation is None:
        return {}
    shape = shape_of(annotation)
    unit = {"items": "Items", "mapping": "Properties"}.get(shape.kind, "Length")
    limits: dict[str, Any] = {}
    for key, value in plan.constraints.items():
        if not applies(key, annotation):
            continue
        if key in _KEYWORDS:
            if isinstance(value, (int, float)):  # JSON Schema orders numbers only
                limits[_KEYWORDS[key]] = value
        elif key == "regex":
            limits["pattern"] = value if isinstance(value, str) else value.pattern
        else:
            limits[key[:3] + unit] = value
    return limits


def _default(plan: FieldPlan) -> Any:
    value = plan.default
    if plan.default_factory is not MISSING:
        # Only factories that are known to do nothing else are called.
        value = _EMPTY.get(plan.default_factory, MISSING)
    if value is MISSING:
        return MISSING
    try:
        return dump(value)
    except SerdeError:
        return MISSING


def _docstring(cls: type) -> str:
    doc = vars(cls).get("__doc__") or ""
    if doc.startswith(f"{cls.__name__}("):  # written by @dataclass
        return ""
    return inspect.cleandoc(doc).partition("\n\n")[0].replace("\n", " ")


def _unused(name: str, taken: dict[str, dict[str, Any]]) -> str:
    unused, number = name, 1
    while unused in taken:
        number += 1
        unused = f"{name}{number}"
    return unused
