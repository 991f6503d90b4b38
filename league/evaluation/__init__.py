"""How good somebody is: both seats played over scenarios, against partners and exact best responses."""
