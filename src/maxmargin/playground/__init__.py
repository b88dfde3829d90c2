"""The playground: machines in the browser, computed by the library behind a local page.

``maxmargin playground`` serves it on this computer alone and opens the browser. It needs the extra
``playground``, which is loaded when the first page is served.
"""

from __future__ import annotations

from maxmargin.playground._serve import PORT, make_app, serve

__all__ = ["PORT", "make_app", "serve"]
