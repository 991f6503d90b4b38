"""The local web page, for a browser on this machine: ``view`` files make inert markup, ``page`` files show it."""
