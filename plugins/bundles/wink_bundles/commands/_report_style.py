"""How the page of a session looks, in the light and in the dark."""

from typing import Final

STYLE: Final = """
:root{--ink:#1b1f24;--paper:#fff;--soft:#5b6470;--line:#d8dee6;--box:#f5f7fa;--good:#176f2c;--bad:#b3261e;--warn:#8a5a00;
--add:#e3f6e8;--del:#fdeaea;--at:#0b5cad}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--paper:#14171c;--soft:#9aa4b1;--line:#303741;--box:#1c2128;
--good:#6fcf86;--bad:#ff8d85;--warn:#e5b567;--add:#16331f;--del:#3b1a1c;--at:#7db8ff}}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:64rem;margin:0 auto;padding:1.5rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}h3{font-size:1rem;margin:0;font-weight:600;overflow-wrap:anywhere}
section.said{border-left:3px solid var(--at)}
section{border:1px solid var(--line);border-radius:6px;padding:.7rem 1rem;margin:.7rem 0}
p{margin:.3rem 0;overflow-wrap:anywhere}a{color:inherit}small{color:var(--soft);font-weight:400}
code,pre{font:13px/1.45 ui-monospace,monospace}
pre{background:var(--box);border-radius:4px;padding:.6rem;overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere}
summary{cursor:pointer;color:var(--soft)}
.quiet{color:var(--soft)}.good{color:var(--good)}.bad{color:var(--bad)}.warning{color:var(--warn)}
.add{background:var(--add)}.del{background:var(--del)}.at{color:var(--at)}
"""
