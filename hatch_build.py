"""The page that a package index shows: the README, with links that lead somewhere from there."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|mailto:|#)([^)]+)\)")


def elsewhere(readme: str, repository: str = "") -> str:
    """The README with links into a repository, as https://host/owner/name. Without one links become
    text and pictures go.
    """

    def link(found: re.Match) -> str:
        picture, text, target = found.groups()
        if repository:
            return f"{picture}[{text}]({repository}/{'raw' if picture else 'blob'}/HEAD/{target})"
        return "" if picture else text

    return RELATIVE.sub(link, readme)


class Readme(MetadataHookInterface):
    """Sets the long description. `Repository` of `[project.urls]` is where links lead."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository = metadata.get("urls", {}).get("Repository", "")
        metadata["readme"] = {"content-type": "text/markdown", "text": elsewhere(text, repository)}
