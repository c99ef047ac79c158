"""The APIs that real agents speak to a model: one module each."""

from tests.agents.apis.chat import CHAT
from tests.agents.apis.gemini import GEMINI
from tests.agents.apis.messages import MESSAGES
from tests.agents.apis.responses import RESPONSES

APIS = (MESSAGES, RESPONSES, CHAT, GEMINI)
