"""Where the table comes from: the pool and both seats' values, sampled, enumerated or read from the published files."""

from dond_marl.public_names import on_first_use

__getattr__ = on_first_use(
    __name__,
    {
        "ScenarioError": "dond_marl.scenarios.sources",
        "ScenarioSource": "dond_marl.scenarios.sources",
        "Scenarios": "dond_marl.scenarios.sources",
        "open_source": "dond_marl.scenarios.sources",
        "pack": "dond_marl.scenarios.sources",
    },
)
