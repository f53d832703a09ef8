"""Tabs of one address take turns; nobody else waits for them."""

from zoexplore.limits import MOVES_PER_ADDRESS
from zoexplore.server.websocket import LATE, MANY, Pace

BETWEEN = 1 / MOVES_PER_ADDRESS.default
NEAR = 1e-9


def test_tabs_of_one_address_share_its_turns_and_others_have_their_own():
    pace = Pace()
    waits = [pace.wait("one", tab, 10.0) for tab in range(5)]
    assert max(abs(wait - i * BETWEEN) for i, wait in enumerate(waits)) < NEAR
    assert pace.wait("other", 9, 10.0) == 0 and pace.wait("one", 0, 20.0) == 0


def test_a_busy_process_gives_many_tabs_fewer_turns_and_a_single_one_as_many():
    pace = Pace()
    pace.late = 3 * LATE
    assert [pace.wait("one", 1, 10.0), pace.wait("many", 1, 10.0)] == [0, 0]
    assert abs(pace.wait("one", 1, 10.0) - BETWEEN) < NEAR
    assert abs(pace.wait("many", 2, 10.0) - 4 * BETWEEN) < NEAR


def test_addresses_that_wait_for_nothing_are_forgotten():
    pace = Pace()
    for i in range(3 * MANY):
        pace.wait(str(i), 1, float(i))
    assert len(pace._last) <= MANY + 2
