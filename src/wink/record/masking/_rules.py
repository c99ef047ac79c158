"""What a secret looks like when nobody has said so: the shapes of keys, headers, addresses, and the names of fields.

Each shape is RE2 syntax. Where it has a group, that is the secret, otherwise all of it. The shapes of keys are those that
their issuers document so that they can be found (GitHub, GitLab, Stripe, AWS, Slack, PyPI and others publish prefixes).
"""

from __future__ import annotations

from typing import Final

_QUOTE: Final = r"""(?:\\*["'])"""
_WORD: Final = (
    r"(?i:passw(?:or)?d|passphrase|secret|credentials?|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|secret[_-]?key|account[_-]?key|(?:access|refresh|auth|session|id|bearer|api|bot|secret)[_-]?token)"
)
_NAME: Final = rf"[A-Za-z0-9_.-]*{_WORD}"
# not in the middle of a word, such as "task-force"; a line's end may be written out
_START: Final = r"(?:^|[^A-Za-z0-9]|\\+[nrtbf]|%[0-9A-F]{2})"
_UNQUOTED: Final = r"[A-Za-z0-9_+/~!#%^&*@=-]"
_BODY: Final = r"""[A-Za-z0-9+/=\s\\"|:,.-]"""

SHAPES: Final = (
    # private keys, whole, and what is left of one that was cut off
    r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(.*?)-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----",
    rf"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----({_BODY}+)",
    rf"({_BODY}{{24,}})-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----",
    r"AGE-SECRET-KEY-1[A-Z0-9]{50,}",
    # keys with a prefix of their issuer's
    rf"{_START}(sk-[A-Za-z0-9_-]{{16,}})",
    rf"{_START}((?:gsk_|r8_|hf_|npm_|lin_api_|nvapi-|xai-|pplx-|fw_)[A-Za-z0-9]{{20,}}|key-[0-9a-f]{{32}})",
    r"gh[pousr]_[A-Za-z0-9]{16,}",
    r"github_pat_[A-Za-z0-9_]{16,}",
    r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-[A-Za-z0-9_-]{16,}",
    r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}",
    r"whsec_[A-Za-z0-9+/=]{16,}",
    r"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}",
    r"AIza[0-9A-Za-z_-]{30,}",
    r"ya29\.[0-9A-Za-z_-]{20,}",
    r"GOCSPX-[A-Za-z0-9_-]{20,}",
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"xapp-[0-9]-[A-Za-z0-9-]{20,}",
    r"hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/_-]{20,})",
    r"pypi-[A-Za-z0-9_-]{20,}",
    r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{16,}",
    r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
    r"do[opr]_v1_[a-f0-9]{40,}",
    r"hv[sbr]\.[A-Za-z0-9_-]{20,}",
    r"tskey-[a-z]+-[A-Za-z0-9-]{10,}",
    r"[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}",
    r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.?[A-Za-z0-9_-]*",
    # headers
    rf"(?i:authorization){_QUOTE}?\s*[:=,]\s*{_QUOTE}?((?i:bearer|basic|token|apikey|negotiate)\s+[^\s\"'\\,;]{{3,}})",
    rf"(?i:authorization){_QUOTE}?\s*[:=,]\s*{_QUOTE}?((?i:digest|aws4-hmac-sha256)\s+[^\r\n]{{3,}})",
    rf"(?i:authorization){_QUOTE}?\s*:\s*{_QUOTE}?([^\s\"'\\,;\[]{{12,}})",
    r"\b(?i:bearer)\s+([A-Za-z0-9._~+/-]{16,}=*)",
    rf"{_START}(?i:(?:set-)?cookie){_QUOTE}?\s*:\s*{_QUOTE}?([^\r\n\"'\\\[]{{8,}})",
    (
        rf"{_START}(?i:x-(?:api-key|auth-token|access-token|vault-token|gitlab-token)){_QUOTE}?\s*[:=,]\s*{_QUOTE}?"
        r"""([^\s"'\\\[]{6,})"""
    ),
    # addresses
    r"""[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@"'<>\\]*:([^\s@"'<>\\\[]+)@""",
    r"""[A-Za-z][A-Za-z0-9+.-]*://([A-Za-z0-9_-]{16,})@""",
    (
        r"""[?&;](?i:access_token|auth_token|token|api_?key|password|passwd|secret|client_secret|sig|signature"""
        r"""|x-amz-(?:signature|security-token)|x-goog-signature)=([^&\s"'#<>\\\[]{4,})"""
    ),
    # values with a telling name: NAME=value as in .env files, anything in quotes, and name: value in YAML
    (
        r"""\b[A-Z0-9_]*(?:SECRET|TOKEN|PASSW(?:OR)?D|PASSPHRASE|API_?KEY|PRIVATE_KEY|ACCESS_KEY|ACCOUNT_?KEY|CREDENTIALS?)"""
        r"""[A-Z0-9_]*=\\*["']?([^\s"'\\$<{(\[;][^\s"'\\;]{3,})"""
    ),
    rf"{_NAME}{_QUOTE}?\]?\s*(?:=>|:=|[:=,])\s*{_QUOTE}([^\s\"'\\$<{{(\[][^\"'\\\r\n]{{2,}})",
    rf"{_NAME}{_QUOTE}?=({_UNQUOTED}{{6,}})(?:$|[\s,;&)\"'\\|])",
    (
        rf"(?m){_NAME}:[ \t]+({_UNQUOTED}{{5,}}[0-9]{_UNQUOTED}*|{_UNQUOTED}*[0-9]{_UNQUOTED}{{5,}}|{_UNQUOTED}{{2,4}}[0-9]"
        rf"{_UNQUOTED}{{2,}})(?:[ \t]*$|\\+[nr]|[\"'])"
    ),
    (
        r"""--(?i:password|passwd|passphrase|token|secret|api-?key|access-?key|private-?key|(?:auth|access|api)-token)"""
        r"""(?:=|\s+|\\*["'],\s*)\\*["']?([^\s"'\\$<{(\[-][^\s"'\\]{3,})"""
    ),
)
"""Shapes of secrets in any text, also in text that was put into quotes once more."""

_SIGNS: Final = (
    r"-----(?:BEGIN|END) [A-Z0-9 ]*PRIVATE KEY",
    _WORD + _QUOTE + r"?\]?\s*(?:=>|[:=,])",
    r"(?i:authorization|cookie)\\*[\"']?\s*[:=,]",
)
_HAVE_SIGNS: Final = ("PRIVATE KEY", _WORD, "(?i:authorization)", "cookie")
GATE: Final = (*_SIGNS, *(shape for shape in SHAPES if not any(sign in shape for sign in _HAVE_SIGNS)))
"""What is found wherever one of the shapes is, and here and there where none is; it is smaller, and looked for first."""

EXACT_NAMES: Final = frozenset(
    {
        "auth",
        "authorization",
        "bearer",
        "cookie",
        "credential",
        "credentials",
        "proxyauthorization",
        "pwd",
        "setcookie",
        "token",
    }
)
"""Fields whose texts are masked whatever they look like, without case and punctuation."""

_PHRASES: Final = """
    password, passwd, passphrase, secret, api key, access key, secret key, private key, account key, access token,
    api token, auth token, bearer token, bot token, id token, refresh token, session token
"""
_WORDS: Final = tuple(words.strip() for words in _PHRASES.split(","))
ENDINGS: Final = tuple(words.replace(" ", "") for words in _WORDS)
"""The same for fields whose names end so: `db_password`, `X-Api-Key`."""

NAMED: Final = "|".join(
    [words.replace(" ", r"[\W_]{0,2}") for words in _WORDS]
    + ["auth|authorization|bearer|set[-_]?cookie|cookie|credentials?|proxy[-_]?authorization|pwd|token"]
)
"""All of these names, as an expression."""
