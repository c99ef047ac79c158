"""What a model's last answer must look like, and reading it: JSON alone, in a fenced block, or with prose around it."""

from wink.prompt.output._response_format import response_format
from wink.prompt.output._structured_output import parse_structured_output

__all__ = ["parse_structured_output", "response_format"]
