"""The local web page: play, watch, replay and compare in a browser, on this machine alone.

Modules named ``*_view`` say what a page shows, as values and inert markup, and know no browser; modules named
``*_page`` show it with NiceGUI, the optional extra ``[ui]``, which nothing else imports.
"""
