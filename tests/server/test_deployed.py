"""The files for several processes behind nginx: who is limited, who finds a free process, and how
much memory there is.
"""

import re
from pathlib import Path

import pytest
import yaml

from zoexplore.compute.limits import TRAININGS, WORKER_MEGABYTES, WORKERS

DOCS = Path(__file__).parents[2] / "docs"
NGINX = (DOCS / "nginx.conf").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "path, limited", [("/app", True), ("/app/", True), ("/app/ws", False), ("/static/app", False)]
)
def test_pages_are_limited_by_address_with_a_slash_and_without(path, limited):
    (pattern,) = re.findall(
        r'map \$uri \$asks_for_a_page \{ default ""; "~(\S+)" \$binary_remote_addr; \}', NGINX
    )
    assert "limit_req_zone $asks_for_a_page zone=pages" in NGINX and "limit_req zone=pages" in NGINX
    assert limited == bool(re.search(pattern, path))


def test_a_hall_behind_one_address_is_let_in():
    """A hundred readers, each with the connections of a browser, who come within a few seconds."""
    knobs = r"limit_conn visitors (\d+)", r"rate=(\d+)r/s", r"burst=(\d+)"
    connections, rate, burst = (int(re.findall(knob, NGINX)[0]) for knob in knobs)
    assert connections >= 100 * 7 and burst >= 100 and rate >= 10


@pytest.mark.parametrize(
    "answer, cookie",
    [
        ("503 one", "Max-Age=0"),
        ("502, 503 one", "Max-Age=0"),
        ("200 ", "Max-Age=86400"),
        ("200 one", ""),
    ],
)
def test_a_browser_leaves_a_full_process_and_stays_with_one_that_has_room(answer, cookie):
    """By the status and the cookie that it came with: the first pattern that fits says which cookie
    it is given.
    """
    rules = re.findall(r'"~(.+?)" "(.+?)";', NGINX.partition("$new_seat {")[2].partition("}")[0])
    given = next((text for pattern, text in rules if re.search(pattern, answer)), "")
    assert given.endswith(cookie) and bool(given) == bool(cookie)


def test_a_container_holds_its_workers_at_their_largest():
    services = yaml.safe_load((DOCS / "compose.yml").read_text(encoding="utf-8"))["services"]
    for name, service in services.items():
        if name != "nginx":
            workers = (WORKERS.value + TRAININGS.value) * int(
                service["environment"][WORKER_MEGABYTES.variable]
            )
            assert int(service["mem_limit"].removesuffix("g")) * 1024 > workers
