"""python -m maxmargin.playground"""

from __future__ import annotations

import argparse

from maxmargin.playground import PORT, serve


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and serve until Ctrl-C."""
    parser = argparse.ArgumentParser(
        prog="python -m maxmargin.playground", description="See a support vector machine think."
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: %(default)s, this computer only)"
    )
    parser.add_argument(
        "--port", type=int, default=PORT, help="port to listen on; 0 takes a free one (default: %(default)s)"
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open the browser")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a further name by which browsers may call this server, such as the computer's name; may be repeated",
    )
    options = parser.parse_args(arguments)
    serve(options.host, options.port, open_browser=not options.no_browser, allow_hosts=options.allow_host)


if __name__ == "__main__":
    main()
