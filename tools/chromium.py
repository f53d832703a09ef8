"""Finds the Chromium that the browser tests drive. Run as a program, this module also installs one
where that needs no questions.
"""

import os
import shutil
import subprocess
from pathlib import Path

_COMMANDS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
_MAC = [
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
]


def find() -> str | None:
    """Return the path of a Chromium or Chrome: the one that CHROMIUM names, or else the first of
    the usual ones that exists; None if there is none.
    """
    named = os.environ.get("CHROMIUM")
    if named:
        return shutil.which(named)
    on_path = (shutil.which(command) for command in _COMMANDS)
    return next(filter(None, on_path), None) or next(filter(os.path.exists, _MAC), None)


def install() -> None:
    """Install Debian's package. Its output is shown only if it fails."""
    # Ubuntu's package of this name is a stub that needs snapd, so `main` looks for Chromium again.
    command = "apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium"
    result = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    if result.returncode:
        print("\n".join((result.stdout + result.stderr).splitlines()[-10:]))


def main() -> None:
    on_debian_as_root = (
        Path("/etc/debian_version").exists() and hasattr(os, "geteuid") and os.geteuid() == 0
    )
    if find() is None and "CHROMIUM" not in os.environ and on_debian_as_root:
        print("setup: installing Chromium for the browser tests", flush=True)
        install()
    if find() is None:
        print(
            "setup: NO CHROMIUM, so no browser test can run: install one, or set CHROMIUM=/path/to/it",
            flush=True,
        )


if __name__ == "__main__":
    main()
