# %% [markdown]
# # A first game, and a first partner
#
# Two seats bargain over books, hats and balls. Each values them privately; a deal pays each seat its own values for
# what it gets, no deal pays nothing. Here you play one game step by step, write a partner of your own, check it, and
# measure it. It takes about a minute and needs the extras `frames` and `plot`, which `make setup` installs.
#
# On Colab or any other machine the first cell installs the package: from the checkout around this notebook if there is
# one, otherwise from the address of your clone.

# %%
import importlib
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ADDRESS = "https://HOST/PATH/dond-marl"  # what you would give to git clone

if find_spec("dond_marl") is None:
    around = [folder for folder in (Path.cwd(), *Path.cwd().parents) if (folder / "dond_marl" / "game.py").is_file()]
    if not around and "HOST" in ADDRESS:
        raise SystemExit("Set ADDRESS to the address of your clone, and run this cell again.")
    source = around[0].as_uri() if around else f"git+{ADDRESS}"
    package = f"dond-marl[frames,plot] @ {source}"
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", package], check=True)
    importlib.invalidate_caches()

# %%
from dond_marl import SingleAgentView, deal_or_no_dialog_v0

env = SingleAgentView(deal_or_no_dialog_v0.env(scenarios="lewis", render_mode="ansi"), partner="linear", seat=0)
observation, info = env.reset(seed=1)
observation

# %% [markdown]
# `counts` is the pool, `my_utilities` what one item of each type is worth to you. Ask for everything until you are
# offered four points, then agree. `oA` is always what the *speaker* keeps.

# %%
PROPOSE, AGREE = 0, 2
over = False
while not over:
    offered = observation["last_partner_offer_for_me"] @ observation["my_utilities"]
    act = AGREE if offered >= 4 and info["action_mask"][AGREE] else PROPOSE
    observation, reward, over, _, info = env.step({"act_type": act, "oA": info["oA_max"]})
print(env.render())
print("my points:", reward)

# %% [markdown]
# The same table as a picture, which `RecordVideo` takes too:

# %%
from PIL import Image

both = deal_or_no_dialog_v0.env(scenarios="lewis", render_mode="rgb_array")
both.reset(seed=1)
both.step({"act_type": PROPOSE, "oA": [1, 0, 0]})
Image.fromarray(both.render()).resize((320, 240))

# %% [markdown]
# ## A partner of your own
#
# A partner of one game answers what its seat sees with an act. This one asks for everything until it is offered
# half of what everything is worth to it.

# %%
from dond_marl import Act, check_partner, one_game


@one_game(deterministic=True, memoryless=True)
def half(view, share=0.5):
    if view.can_agree and view.worth(view.offer) >= share * view.whole:
        return Act.AGREE
    return Act.PROPOSE, view.pool


check_partner(half)  # legal, pure, and sees nothing that it should not

# %% [markdown]
# ## How good is it?
#
# Both seats of 200 held-out scenarios against the partner `boulware`, compared with the exact best response to it in
# the same games:

# %%
from league import evaluate_pair

result = evaluate_pair(half, "boulware", sample=200)
figures = result.frame()
figures[(figures.figure == "points") & (figures.view == "both seats")][["line", "mean", "low", "high"]]

# %% [markdown]
# How stubborn should it be? A higher bar closes fewer deals, each worth more.

# %%
for share in (0.3, 0.5, 0.7, 0.9):
    own = evaluate_pair(half(share=share), "boulware", sample=100).evaluation.played.figures["both seats"]
    print(f"at least {share:.0%}: {own.points.mean:.2f} points, {own.deals.mean:.0%} deals")
