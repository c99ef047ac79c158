"""What a batch came to: a summary, a page, how much a pass rate says, and two batches beside each other."""

from wink_batch.report._compare import Comparison, Pair, compare
from wink_batch.report._page import facts, page
from wink_batch.report._statistics import Rate, rate, sign_test
from wink_batch.report._summary import Group, Summary, lines, summary

__all__ = [
    "Comparison",
    "Group",
    "Pair",
    "Rate",
    "Summary",
    "compare",
    "facts",
    "lines",
    "page",
    "rate",
    "sign_test",
    "summary",
]
