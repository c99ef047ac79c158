"""Stand between an editor and an agent that speaks the Agent Client Protocol: what the agent delegates to the editor becomes calls.

The rules of this package:

* A message that is no delegated request goes on as the bytes that came. Three are changed: `initialize`, which tells the agent what
  wink does for it, and what shows a terminal of wink's, which the editor does not know.
* A line of the agent's that nobody can read goes no further: the editor could take it for a request that no rule has judged.
* Whatever waits for an answer gets one: when the agent ends, what the editor has asked it; when the editor goes, calls are taken back.
"""

__all__: list[str] = []
