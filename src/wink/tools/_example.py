"""A worked call that shows a model how a tool is used."""

from typing import Generic, TypeVar

from wink.dataclass import dataclass

ParamsT_co = TypeVar("ParamsT_co", covariant=True)
ResultT_co = TypeVar("ResultT_co", covariant=True)


@dataclass(frozen=True)
class ToolExample(Generic[ParamsT_co, ResultT_co]):
    """One call: what it is for (1-200 characters), what is sent, what comes back.

    Checked against the tool's types when the tool is built, and against its constraints by `Tool.check`.
    """

    description: str
    input: ParamsT_co
    output: ResultT_co
