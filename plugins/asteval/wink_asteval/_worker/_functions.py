"""The functions that a script defines."""

from __future__ import annotations

import ast
from typing import Any

from wink_asteval._worker._running import Running, Scope


class Function:
    """A `def` or a `lambda`: called with Python's rules for arguments, in a scope inside the one that it was made in."""

    def __init__(self, evaluator: Running, node: ast.FunctionDef | ast.Lambda, scope: Scope) -> None:
        self.__name__ = node.name if isinstance(node, ast.FunctionDef) else "<lambda>"
        self.__doc__ = ast.get_docstring(node) if isinstance(node, ast.FunctionDef) else None
        self._evaluator, self._node, self._scope = evaluator, node, scope
        arguments = node.args
        self._positional = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
        self._only_positional = {one.arg for one in arguments.posonlyargs}
        self._named = [one.arg for one in arguments.kwonlyargs]
        values = [evaluator.run(default) for default in arguments.defaults]
        self._defaults = dict(zip(self._positional[len(self._positional) - len(values) :], values, strict=True))
        for name, default in zip(self._named, arguments.kw_defaults, strict=True):
            if default is not None:
                self._defaults[name] = evaluator.run(default)

    def __repr__(self) -> str:
        return f"<function {self.__name__}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the body, for Python's own functions that are given this one."""
        return self.call(args, kwargs)

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the body; a script's own calls come here, since a method's call takes none of the C stack."""
        return self._evaluator.enter(self.__name__, self._node.body, self._bind(args, kwargs))

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Scope:
        arguments, given = self._node.args, len(self._positional)
        values: dict[str, Any] = dict(zip(self._positional, args, strict=False))
        if arguments.vararg is not None:
            values[arguments.vararg.arg] = args[given:]
        elif len(args) > given:
            raise TypeError(f"{self.__name__}() takes {given} positional arguments but {len(args)} were given")
        more: dict[str, Any] = {}
        for name, value in kwargs.items():
            known = name in self._named or (name in self._positional and name not in self._only_positional)
            if known and name in values:
                raise TypeError(f"{self.__name__}() got multiple values for argument {name!r}")
            if not known and arguments.kwarg is None:
                raise TypeError(f"{self.__name__}() got an unexpected keyword argument {name!r}")
            (values if known else more)[name] = value
        if arguments.kwarg is not None:
            values[arguments.kwarg.arg] = more
        for name in (*self._positional, *self._named):
            if name not in values:
                if name not in self._defaults:
                    raise TypeError(f"{self.__name__}() missing the argument {name!r}")
                values[name] = self._defaults[name]
        return self._scope.new_child(values)
