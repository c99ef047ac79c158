"""Rules as data: allow, deny or ask about calls by tool, argument and path, with limits and conditions.

`[[rules]]` of settings are read by `read_rules`, and `RulesPolicy` judges by them, in a prompt of a program as well. `wink.policies`
has the same names for whoever does not know this package, wink's own commands among them.
"""

from wink_rules._globs import is_wild
from wink_rules._part import RuleMatch
from wink_rules._policy import RuleJudgement, RulesPolicy
from wink_rules._reading import read_rules
from wink_rules._rule import Rule

__all__ = ["Rule", "RuleJudgement", "RuleMatch", "RulesPolicy", "is_wild", "read_rules"]
