# %% [markdown]
# # Train, and read the numbers
#
# A policy learns by PPO against one partner; then its results are analysed: its points, the best possible points, and
# the causes of the difference. About three minutes on two cores. It needs the extras `frames` and `plot`, which
# `make setup` installs.

# %%
from league import evaluate_pair, train

learned = train("ppo_fast.yaml", {"training.num_train_steps": 150_000}, seed=1)
learned

# %% [markdown]
# ## The curve
#
# `points` are points of ten in practice, with sampled acts. `of_response` is their share of the points of a best
# response to the partner: 1 is the maximum.

# %%
log = learned.frame()
axes = log.plot(x="decisions", y="of_response", ylim=(0, 1), figsize=(6, 2.5), legend=False)
_ = axes.set_ylabel("share of a best response")
# %% [markdown]
# ## Points on scenarios that it has not seen
#
# Every scenario is played twice, once in either seat, and the exact best response plays the same games: the shares are
# paired. `±` is a 95 % interval over scenarios.

# %%
result = evaluate_pair(learned.member, "heuristic")
print(str(result).split("\n\n")[0])

# %%
figures = result.frame()
wanted = ["points", "deals", "pareto", "joint_agreed", "turns"]
both = figures[(figures.view == "both seats") & figures.figure.isin(wanted)]
table = both.pivot(index="line", columns="figure", values="mean")[wanted].round(2)
table.rename(index={learned.member: "what was trained"})

# %% [markdown]
# ## Other partners
#
# A best response to one partner need not do well with another. The same policy with three partners that were not in its
# training:

# %%
for partner in ("heuristic", "boulware", "tough", "nice"):
    own = evaluate_pair(learned.member, partner, sample=200)
    points = own.evaluation.played.figures["both seats"].points
    best = own.evaluation.best.figures["both seats"].points.mean if own.evaluation.best else float("nan")
    print(f"{partner:10} {points.mean:5.2f} [{points.low:.2f}, {points.high:.2f}] of {best:.2f}")

# %% [markdown]
# That gap is why there is a league: the next notebook. The checkpoint can be used wherever a partner can, also in
# `dond play`:

# %%
learned.member
