"""asteval, as much of it as is used, with types."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable
    from typing import Any

    astutils: Any

    def op2func(oper: ast.AST, /) -> Callable[..., Any]:
        """The function of an operator, which refuses results beyond asteval's limits."""
        ...

    def make_symbol_table(*, use_numpy: bool) -> dict[str, Any]:
        """What asteval's scripts find without defining it."""
        ...

    class Interpreter:
        """Evaluates nodes with the method `on_` and their class's name."""

        def __init__(self, *, symtable: dict[str, Any], use_numpy: bool) -> None: ...

else:
    from asteval import Interpreter, astutils, make_symbol_table
    from asteval.astutils import op2func

__all__ = ["Interpreter", "astutils", "make_symbol_table", "op2func"]
