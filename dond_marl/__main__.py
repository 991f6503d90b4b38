"""``python -m dond_marl``: the same as ``dond``.

It is started by name: the package itself imports nothing above it.
"""

import runpy

runpy.run_module("dond", run_name="__main__", alter_sys=True)
