"""asteval's interpreter, with Python's own rules for control flow, scopes and exceptions."""

from __future__ import annotations

import ast
import operator
from typing import Any, Final, NoReturn

from wink_asteval._worker._expressions import Expressions
from wink_asteval._worker._functions import Function
from wink_asteval._worker._guard import attribute, fill
from wink_asteval._worker._running import GLOBAL, Break, Continue, Return, Signal
from wink_asteval._worker._toolbox import NAMES
from wink_asteval._worker._upstream import op2func

IN_PLACE: Final = {"Add": "iadd", "Sub": "isub", "BitAnd": "iand", "BitOr": "ior", "BitXor": "ixor", "Mult": "imul"}
"""Operators that change a list, a set or a dict in place, and what Python's `operator` calls them."""


class Evaluator(Expressions):
    """Evaluates scripts: asteval's expressions, operators and limits, in scopes of our own.

    asteval itself keeps going after errors in ways that Python does not (a `return` inside two loops, a failed attribute
    that is `None`), and shows whole argument lists in messages; what depends on that is replaced here.
    """

    def evaluate(self, script: ast.Module) -> Any:
        """Run a script; gives the value of its last statement if that is an expression, else None."""
        body = list(script.body)
        last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        try:
            self.block(body)
            return self.block([last]) if last is not None else None
        except (Break, Continue, Return) as signal:
            raise SyntaxError(f"{type(signal).__name__.lower()!r} outside of what it could leave") from None

    def on_annassign(self, node: ast.AnnAssign) -> None:
        """`name: kind = value`; the annotation is not looked at."""
        if node.value is not None:
            self.node_assign(node.target, self.run(node.value))

    def on_augassign(self, node: ast.AugAssign) -> None:
        """`target += value`, in place for what can change in place."""
        if isinstance(node.target, ast.Subscript):
            container, key = self.run(node.target.value), self.run(node.target.slice)
            container[key] = self._changed(container[key], node)
        elif isinstance(node.target, ast.Name):
            self.bind(node.target.id, self._changed(self.on_name(node.target), node))
        else:
            self.node_assign(node.target, None)

    def _changed(self, old: Any, node: ast.AugAssign) -> Any:
        value = self.run(node.value)
        in_place = IN_PLACE.get(type(node.op).__name__)
        if in_place is None or isinstance(old, (str, bytes, int, float, complex, tuple)):
            return op2func(node.op)(old, value)  # asteval's operators refuse results beyond its limits
        return getattr(operator, in_place)(old, value)

    def on_global(self, node: ast.Global) -> None:
        """`global name`."""
        self._declare(node.names, self.top)

    def on_nonlocal(self, node: ast.Nonlocal) -> None:
        """`nonlocal name`."""
        for name in node.names:
            owner = next((one for one in self.symtable.maps[1:-3] if name in one), None)
            if owner is None:
                raise SyntaxError(f"no binding for nonlocal {name!r} found")
            self._declare([name], owner)

    def _declare(self, names: list[str], scope: Any) -> None:
        self.symtable.maps[0].setdefault(GLOBAL, {}).update(dict.fromkeys(names, scope))

    def on_delete(self, node: ast.Delete) -> None:
        """`del name` and `del container[key]`."""
        for target in node.targets:
            if isinstance(target, ast.Name):
                if target.id not in self.symtable.maps[0]:
                    raise NameError(f"name {target.id!r} is not defined here")
                del self.symtable[target.id]
            elif isinstance(target, ast.Subscript):
                del self.run(target.value)[self.run(target.slice)]
            else:
                raise TypeError("only names and items can be deleted")

    def on_import(self, node: ast.Import) -> None:
        """`import json`: a module of the toolbox under another name, at most."""
        for one in node.names:
            self.bind(one.asname or one.name, self._module(one.name))

    def on_importfrom(self, node: ast.ImportFrom) -> None:
        """`from math import sqrt`."""
        module = self._module(node.module or "." * node.level)
        for one in node.names:
            if one.name == "*":
                raise ImportError("'from ... import *' is not supported; name what you need")
            self.bind(one.asname or one.name, attribute(module, one.name))

    def _module(self, name: str) -> Any:
        if name not in self.modules:
            raise ImportError(f"there is no module {name!r} here; these can be imported: {', '.join(sorted(NAMES))}")
        return self.modules[name]

    def on_functiondef(self, node: ast.FunctionDef) -> None:
        """`def`, decorators included."""
        function: Any = Function(self, node, self.symtable)
        for decorator in reversed(node.decorator_list):
            function = self.run(decorator)(function)
        self.bind(node.name, function)

    def on_module(self, node: ast.Module) -> Any:
        """A whole script."""
        return self.block(node.body)

    def on_if(self, node: ast.If) -> None:
        """`if`."""
        self.block(node.body if self.run(node.test) else node.orelse)

    def on_for(self, node: ast.For) -> None:
        """`for`."""
        for value in self.run(node.iter):
            self.node_assign(node.target, value)
            try:
                self.block(node.body)
            except Continue:
                continue
            except Break:
                return
        self.block(node.orelse)

    def on_while(self, node: ast.While) -> None:
        """`while`."""
        while self.run(node.test):
            try:
                self.block(node.body)
            except Continue:
                continue
            except Break:
                return
        self.block(node.orelse)

    def on_break(self, node: ast.Break) -> NoReturn:  # noqa: ARG002
        """`break`."""
        raise Break

    def on_continue(self, node: ast.Continue) -> NoReturn:  # noqa: ARG002
        """`continue`."""
        raise Continue

    def on_return(self, node: ast.Return) -> NoReturn:
        """`return`."""
        raise Return(self.run(node.value))

    def on_assert(self, node: ast.Assert) -> None:
        """`assert`."""
        if not self.run(node.test):
            raise AssertionError(*([] if node.msg is None else [self.run(node.msg)]))

    def on_raise(self, node: ast.Raise) -> NoReturn:
        """`raise`."""
        if node.exc is None:
            if not self.handling:
                raise RuntimeError("No active exception to reraise")
            raise self.handling[-1]
        error = self.run(node.exc)
        error = error() if isinstance(error, type) else error
        if not isinstance(error, BaseException) or isinstance(error, Signal):
            raise TypeError("exceptions must derive from BaseException")
        cause = self.run(node.cause)
        raise error from (cause if isinstance(cause, BaseException) else None)

    def on_try(self, node: ast.Try) -> None:
        """`try`."""
        depth, where, scope = self.depth, len(self.where), self.symtable
        try:
            try:
                self.block(node.body)
            except Signal:
                raise
            except BaseException as error:
                self.depth, self.symtable = depth, scope
                del self.where[where:]
                self._handle(node.handlers, error)
            else:
                self.block(node.orelse)
        finally:
            self.block(node.finalbody)

    def _handle(self, handlers: list[ast.ExceptHandler], error: BaseException) -> None:
        for handler in handlers:
            if handler.type is not None and not isinstance(error, self.run(handler.type)):
                continue
            self.trace.clear()
            if handler.name is not None:
                self.bind(handler.name, error)
            self.handling.append(error)
            try:
                self.block(handler.body)
            finally:
                self.handling.pop()
                if handler.name is not None:
                    self.symtable.maps[0].pop(handler.name, None)
            return
        raise error

    def on_with(self, node: ast.With) -> NoReturn:
        """`with`: nothing that a script can make is a context manager."""
        self.unimplemented(node)

    def template(self, text: str) -> str:
        """`text` with its `{name}` fields filled from the script's names."""
        return fill(text, self.top.maps[0])
