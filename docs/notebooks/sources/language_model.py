# %% [markdown]
# # A language model at the table
#
# A language model reads the position as text and answers with one line of JSON. This notebook needs no key and no
# network: a small model ships with the project. With a key, `llm(provider=groq)` or
# `llm(provider=openai, base_url=..., model=...)` takes its place. It needs the extra `llm`, which `make setup`
# installs.

# %%
from dond_marl import seat_occupant

model = seat_occupant("llm(provider=hf)")
model.traits

# %% [markdown]
# ## What it reads
#
# The prompt states the goal by which the model is measured, its own points, and lists the legal acts:

# %%
from partners.llm.prompt import load_template

print(load_template().text[:900])

# %% [markdown]
# ## A game against a scripted partner

# %%
from dond_marl.game import Rules
from dond_marl.records.record import records_of
from dond_marl.records.transcript import transcript
from dond_marl.rollout import rollout
from dond_marl.scenarios import open_source

dealt = open_source("lewis", split="test").block(3, 0, 4)
games = rollout((model, seat_occupant("boulware")), dealt, Rules(), seed=3)
for game in list(records_of(games, ("model", "boulware")))[:2]:
    print(transcript(game), end="\n\n")

# %% [markdown]
# ## How good is it?
#
# Against a partner with a known exact best response, in both seats of 60 held-out scenarios:

# %%
from league import evaluate_pair

print(str(evaluate_pair("llm(provider=hf)", "boulware", sample=60)).split("\n\n")[0])

# %% [markdown]
# ## When a reply cannot be used
#
# A reply is never repaired. Here the "model" is a loopback that answers nonsense: a stated fallback is played, and
# counted by its cause.

# %%
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from dond_marl.seats import Cause


class Nonsense(BaseHTTPRequestHandler):
    """Answers every request of OpenAI's protocol with a sentence that is no act."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"role": "assistant", "content": "I love hats."}
        body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": {}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_): ...


server = HTTPServer(("127.0.0.1", 0), Nonsense)
threading.Thread(target=server.serve_forever, daemon=True).start()
address = f"http://127.0.0.1:{server.server_port}/v1"
babbler = seat_occupant({"kind": "llm", "provider": "openai", "base_url": address, "model": "nonsense"})
games = rollout(
    (babbler, seat_occupant("heuristic")), open_source("lewis", split="test").block(3, 0, 2), Rules(), seed=3
)
print(next(transcript(game) for game in records_of(games, ("babbler", "heuristic"))))
print("why its acts were played:", [Cause(code).name for code in games.cause[0, : games.turns[0] : 2]])
server.shutdown()

# %% [markdown]
# To train a language model on this game with TRL, verifiers or OpenEnv, or to test one with Inspect or TextArena, see
# the page on [language models](../LANGUAGE_MODELS.md).
