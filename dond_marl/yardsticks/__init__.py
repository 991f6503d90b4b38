"""What a game could have paid: solution points, best responses, beliefs and values, exact or bounded."""

from dond_marl.public_names import on_first_use

__getattr__ = on_first_use(
    __name__,
    {
        "Value": "dond_marl.yardsticks.values",
        "response_value": "dond_marl.yardsticks.values",
    },
)
