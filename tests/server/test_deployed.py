"""The files for several processes behind nginx: who is limited, who finds a free process, and how much memory there is."""

import re
from pathlib import Path

import pytest
import yaml

from zoexplore.compute.limits import WORKER_MEGABYTES
from zoexplore.compute.pool import COUNT, MOST_LONG_WORKS

DOCS = Path(__file__).parents[2] / "docs"
NGINX = (DOCS / "nginx.conf").read_text(encoding="utf-8")


def locations():
    """The pattern and the body of every location that is a regular expression."""
    return re.findall(r"location ~ (\S+) \{(.*?)\n        \}", NGINX, re.S)


@pytest.mark.parametrize("path, limited", [("/app", True), ("/app/", True), ("/app/ws", False), ("/static/app", False)])
def test_pages_are_limited_by_address_with_a_slash_and_without(path, limited):
    assert limited == any("limit_req " in body and re.search(pattern, path) for pattern, body in locations())


def test_visitors_are_not_given_the_metrics():
    assert "location = /metrics { return 404; }" in NGINX


@pytest.mark.parametrize(
    "answer, cookie", [("503 one", "Max-Age=0"), ("502, 503 one", "Max-Age=0"), ("200 ", "Max-Age=86400"), ("200 one", "")]
)
def test_a_browser_leaves_a_full_process_and_stays_with_one_that_has_room(answer, cookie):
    """By the status and the cookie that it came with: the first pattern that fits says which cookie it is given."""
    rules = re.findall(r'"~(.+?)" "(.+?)";', NGINX.partition("$new_seat {")[2].partition("}")[0])
    given = next((text for pattern, text in rules if re.search(pattern, answer)), "")
    assert given.endswith(cookie) and bool(given) == bool(cookie)


def test_a_container_holds_its_workers_at_their_largest():
    services = yaml.safe_load((DOCS / "compose.yml").read_text(encoding="utf-8"))["services"]
    for name, service in services.items():
        if name != "nginx":
            workers = (COUNT + MOST_LONG_WORKS) * int(service["environment"][WORKER_MEGABYTES.variable])
            assert int(service["mem_limit"].removesuffix("g")) * 1024 > workers
