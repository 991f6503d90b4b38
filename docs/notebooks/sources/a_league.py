# %% [markdown]
# # A league in five minutes
#
# Members play each other round by round on common scenarios, in both seats; learners practise against them and leave
# snapshots when they have improved significantly. About three minutes on two cores. It needs the extras `frames`
# and `plot`, which `make setup` installs.

# %%
from league import play_league

played = play_league("league_quick.yaml", seed=1)
print(played)

# %% [markdown]
# ## Scores of every pair
#
# Points of ten of the row against the column, mean of both seats. Beating the other member is not the aim: both can
# do well together.

# %%
payoffs = played.frame("payoffs")
table = payoffs.pivot_table(index="member", columns="against", values="points")
order = played.frame("ratings").member.tolist()
table.loc[order, order].round(1)

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(6, 5))
axes.imshow(table.loc[order, order], vmin=0, vmax=10)
axes.set_xticks(range(len(order)), order, rotation=90)
axes.set_yticks(range(len(order)), order)
axes.set_title("points of ten of the row against the column")
figure.tight_layout()

# %% [markdown]
# ## Every game, every act
#
# The ledger stores every game, and its acts can be replayed. How do games end, round by round?

# %%
games = played.frame("games")
games.groupby(["round", "ending"]).size().unstack(fill_value=0)

# %%
acts = played.frame("acts")
first = acts[acts.turn == 1].groupby("member")[["books", "hats", "balls"]].sum().sum(axis=1)
asked = first / games.groupby("seat_0")[["books", "hats", "balls"]].sum().sum(axis=1)
asked.sort_values(ascending=False).head(8).round(2).rename("share of the items asked for in the first offer")

# %% [markdown]
# The same run as one page to read or send: `dond report --run` with this folder.

# %%
played.folder
