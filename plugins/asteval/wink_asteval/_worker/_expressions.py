"""What a script's expressions mean, where asteval is silent or deviates from Python."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn

from wink_asteval._worker._functions import Function
from wink_asteval._worker._running import COMPREHENSION, Running, Scope
from wink_asteval._worker._upstream import op2func

CONVERSIONS: Final[dict[int, Callable[[Any], str]]] = {115: str, 114: repr, 97: ascii}


class Expressions(Running):
    """Displays, calls, comparisons, comprehensions and f-strings; operators and subscripts are asteval's own."""

    def on_namedexpr(self, node: ast.NamedExpr) -> Any:
        """`(name := value)`."""
        value = self.run(node.value)
        # Within a comprehension the name belongs to what surrounds it.
        scope = next(one for one in self.symtable.maps if COMPREHENSION not in one)
        scope[node.target.id] = value
        return value

    def elements(self, nodes: list[ast.expr]) -> Iterator[Any]:
        """The values of expressions, starred ones spread out."""
        for node in nodes:
            if isinstance(node, ast.Starred):
                yield from self.run(node.value)
            else:
                yield self.run(node)

    def on_starred(self, node: ast.Starred) -> NoReturn:  # noqa: ARG002
        """A star where there is nothing to spread into."""
        raise SyntaxError("can't use starred expression here")

    def on_list(self, node: ast.List) -> list[Any]:
        """`[a, *b]`."""
        return list(self.elements(node.elts))

    def on_tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        """`(a, *b)`."""
        return tuple(self.elements(node.elts))

    def on_set(self, node: ast.Set) -> set[Any]:
        """`{a, *b}`."""
        return set(self.elements(node.elts))

    def on_dict(self, node: ast.Dict) -> dict[Any, Any]:
        """`{a: b, **c}`."""
        made: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                made.update(self.run(value))
            else:
                made[self.run(key)] = self.run(value)
        return made

    def on_boolop(self, node: ast.BoolOp) -> Any:
        """`a and b`, `a or b`: the value that decides."""
        wanted = isinstance(node.op, ast.Or)
        value = None
        for one in node.values:
            value = self.run(one)
            if bool(value) is wanted:
                break
        return value

    def on_compare(self, node: ast.Compare) -> Any:
        """`a < b < c`."""
        left, result = self.run(node.left), True
        for operation, one in zip(node.ops, node.comparators, strict=True):
            right = self.run(one)
            result = op2func(operation)(left, right)
            if not result:
                break
            left = right
        return result

    def on_joinedstr(self, node: ast.JoinedStr) -> str:
        """An f-string."""
        return "".join([str(self.run(part)) for part in node.values])

    def on_formattedvalue(self, node: ast.FormattedValue) -> str:
        """One field of an f-string."""
        value = self.run(node.value)
        if node.conversion in CONVERSIONS:
            value = CONVERSIONS[node.conversion](value)
        return format(value, "" if node.format_spec is None else self.run(node.format_spec))

    def on_call(self, node: ast.Call) -> Any:
        """Call a function with its arguments."""
        function = self.run(node.func)
        args = tuple(self.elements(node.args))
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.run(keyword.value)
            more = {keyword.arg: value} if keyword.arg is not None else dict(value)
            twice = next((name for name in more if name in named), None)
            if twice is not None:
                raise TypeError(f"the keyword argument {twice!r} is given twice")
            named.update(more)
        if isinstance(function, Function):
            return function.call(args, named)
        if not callable(function):
            raise TypeError(f"{type(function).__name__!r} object is not callable")
        return function(*args, **named)

    def on_lambda(self, node: ast.Lambda) -> Function:
        """`lambda`."""
        return Function(self, node, self.symtable)

    def on_listcomp(self, node: ast.ListComp) -> list[Any]:
        """`[... for ... in ...]`."""
        return list(self._lazily(node.generators, lambda: self.run(node.elt)))

    def on_setcomp(self, node: ast.SetComp) -> set[Any]:
        """`{... for ... in ...}`."""
        return set(self._lazily(node.generators, lambda: self.run(node.elt)))

    def on_dictcomp(self, node: ast.DictComp) -> dict[Any, Any]:
        """`{...: ... for ... in ...}`."""
        return dict(self._lazily(node.generators, lambda: (self.run(node.key), self.run(node.value))))

    def on_generatorexp(self, node: ast.GeneratorExp) -> Lazy:
        """`(... for ... in ...)`."""
        return self._lazily(node.generators, lambda: self.run(node.elt))

    def _lazily(self, generators: list[ast.comprehension], value: Callable[[], Any]) -> Lazy:
        values = iter(self.run(generators[0].iter))  # outside of the new scope, and at once, as in Python
        scope = self.symtable.new_child({COMPREHENSION: True})
        return Lazy(self, scope, (value() for _ in self._rounds(values, generators)))

    def _rounds(self, values: Any, generators: list[ast.comprehension]) -> Iterator[None]:
        generator, rest = generators[0], generators[1:]
        for value in values:
            self.node_assign(generator.target, value)
            if not all(self.run(condition) for condition in generator.ifs):
                continue
            if rest:
                yield from self._rounds(self.run(rest[0].iter), rest)
            else:
                yield


class Lazy:
    """The values of a comprehension one by one, each computed in the comprehension's own scope.

    Not a generator, which would carry its frame within a script's reach.
    """

    def __init__(self, running: Running, scope: Scope, values: Iterator[Any]) -> None:
        self._running, self._scope, self._values = running, scope, values

    def __repr__(self) -> str:
        return "<generator>"

    def __iter__(self) -> Lazy:
        return self

    def __next__(self) -> Any:
        running = self._running
        outer, running.symtable = running.symtable, self._scope
        try:
            return next(self._values)
        finally:
            running.symtable = outer
