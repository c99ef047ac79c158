"""Notice coroutine functions where a plain function is called: a coroutine is never false, and would never run."""

__all__ = ["is_coroutine_function"]


def is_coroutine_function(function: object) -> bool:
    """Whether `function`, or the function of a bound method, was written with `async def`."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return code is not None and bool(code.co_flags & 0x80)  # inspect.CO_COROUTINE, without importing inspect
