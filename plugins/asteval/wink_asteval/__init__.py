"""A tool that evaluates Python expressions and small scripts over an agent's files, in a process of its own."""

from wink_asteval._config import AstevalConfig
from wink_asteval._params import EvalFileRead, EvalFileWrite, EvalParams
from wink_asteval._results import EvalResult
from wink_asteval._section import AstevalSection, python_section

__all__ = [
    "AstevalConfig",
    "AstevalSection",
    "EvalFileRead",
    "EvalFileWrite",
    "EvalParams",
    "EvalResult",
    "python_section",
]
