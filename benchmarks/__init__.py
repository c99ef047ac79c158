"""What things cost, beside rivals in the same run."""

import os

# Who has installed wink has its bytecode too; without it every start would compile all that it imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
