"""Where a script's names live and its statements run, on top of asteval's interpreter."""

from __future__ import annotations

import ast
from collections import ChainMap
from collections.abc import Callable
from typing import Any, Final, NoReturn

from wink_asteval._worker._guard import attribute
from wink_asteval._worker._upstream import Interpreter

Scope = ChainMap[str, Any]

# Keys of scopes that no script can name: they are no identifiers.
GLOBAL: Final = "global names"
COMPREHENSION: Final = "a comprehension"


class Signal(BaseException):
    """How `break`, `continue` and `return` leave what they are in; no `except` of a script sees one."""

    def __init__(self, value: Any = None) -> None:
        self.value = value
        super().__init__(value)


class Break(Signal):
    """`break`."""


class Continue(Signal):
    """`continue`."""


class Return(Signal):
    """`return`."""


class Running(Interpreter):
    """What all nodes need: scopes, names, the order of statements, and where an exception came from."""

    symtable: Any

    def __init__(self, names: dict[str, Any], modules: dict[str, Any]) -> None:
        super().__init__(symtable={}, use_numpy=False)
        self.modules = modules
        self.builtin: Scope = ChainMap(names)
        self.top: Scope = self.builtin.new_child(modules).new_child()
        self.symtable = self.top
        self.depth = 0
        self.where: list[str] = ["<script>"]
        self.trace: list[tuple[int, str, int]] = []
        self.handling: list[BaseException] = []
        self.handlers: dict[type[ast.AST], Callable[[Any], Any]] = {}

    def run(self, node: Any, expr: Any = None, lineno: Any = None, with_raise: bool = True) -> Any:  # noqa: ARG002
        """The value of a node; whatever is raised goes on its way as it does in Python."""
        handler = self.handlers.get(node.__class__)
        if handler is None:
            if node is None:
                return None
            handler = getattr(self, f"on_{type(node).__name__.lower()}", self.unimplemented)
            self.handlers[type(node)] = handler
        return handler(node)

    def block(self, body: list[ast.stmt]) -> Any:
        """Run statements in order, noting where an exception came from; the value of the last one."""
        value = None
        for statement in body:
            try:
                value = self.run(statement)
            except Signal:
                raise
            except BaseException:
                # The innermost statement of each function is enough, as in Python's tracebacks.
                if not self.trace or self.trace[-1][2] > self.depth:
                    self.trace.append((statement.lineno, self.where[-1], self.depth))
                raise
        return value

    def enter(self, name: str, body: list[ast.stmt] | ast.expr, scope: Scope) -> Any:
        """Run a function's body in its scope."""
        outer, self.symtable = self.symtable, scope
        self.depth += 1
        self.where.append(name)
        try:
            if not isinstance(body, list):
                return self.run(body)
            self.block(body)
        except Return as returned:
            return returned.value
        except (Break, Continue) as signal:
            raise SyntaxError(f"{type(signal).__name__.lower()!r} outside loop") from None
        finally:
            self.symtable = outer
            self.depth -= 1
            self.where.pop()
        return None

    def unimplemented(self, node: ast.AST) -> NoReturn:
        """Say what is missing."""
        raise NotImplementedError(f"{type(node).__name__} is not supported in this Python; write it in another way")

    def raise_exception(
        self,
        node: Any,  # noqa: ARG002
        exc: type[BaseException] | None = None,
        msg: str = "",
        expr: Any = None,  # noqa: ARG002
        lineno: Any = None,  # noqa: ARG002
    ) -> NoReturn:
        """What asteval's own code calls when it refuses something."""
        raise (exc or RuntimeError)(msg)

    def on_name(self, node: ast.Name) -> Any:
        """A name's value, from the innermost scope that has it."""
        try:
            return self.symtable[node.id]
        except KeyError:
            raise NameError(f"name {node.id!r} is not defined") from None

    def on_attribute(self, node: ast.Attribute) -> Any:
        """`value.attr`, within the bounds of what a script may reach."""
        return attribute(self.run(node.value), node.attr)

    def node_assign(self, node: ast.expr, val: Any) -> None:
        """Bind a target."""
        if isinstance(node, ast.Name):
            self.bind(node.id, val)
        elif isinstance(node, ast.Subscript):
            self.run(node.value)[self.run(node.slice)] = val
        elif isinstance(node, (ast.Tuple, ast.List)):
            self._unpack(node.elts, val)
        elif isinstance(node, ast.Attribute):
            raise AttributeError(f"the attribute {node.attr!r} cannot be set here")
        else:
            self.unimplemented(node)

    def bind(self, name: str, value: Any) -> None:
        """Give a name a value in the current scope."""
        if name.startswith("__"):
            raise NameError(f"the name {name!r} cannot be used here")
        declared = self.symtable.maps[0].get(GLOBAL)
        scope = self.symtable if declared is None else declared.get(name, self.symtable)
        scope[name] = value

    def _unpack(self, targets: list[ast.expr], values: Any) -> None:
        items = list(values)
        star = next((place for place, one in enumerate(targets) if isinstance(one, ast.Starred)), None)
        if star is not None:
            after = len(targets) - star - 1
            if len(items) < len(targets) - 1:
                raise ValueError(
                    f"not enough values to unpack (expected at least {len(targets) - 1}, got {len(items)})"
                )
            middle = items[star : len(items) - after]
            items = [*items[:star], middle, *items[len(items) - after :]]
        if len(items) != len(targets):
            few = "not enough" if len(items) < len(targets) else "too many"
            raise ValueError(f"{few} values to unpack (expected {len(targets)}, got {len(items)})")
        for target, item in zip(targets, items, strict=True):
            self.node_assign(target.value if isinstance(target, ast.Starred) else target, item)
