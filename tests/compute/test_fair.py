"""Start-time fair queueing: who has spent least comes first."""

from fractions import Fraction
from threading import Thread

from hypothesis import given
from hypothesis import strategies as st

from zoexplore.compute.fair import MANY, Budget, FairQueue

COSTS = st.integers(1, 50)


def served(queue, costs, rounds):
    """What each of those got who always have something waiting."""
    spent = dict.fromkeys(costs, 0)
    for address in costs:
        queue.add(address, address)
    for _ in range(rounds):
        address = queue.take()
        queue.budget.charge(address, costs[address])
        spent[address] += costs[address]
        queue.add(address, address)
    return spent


@given(st.dictionaries(st.integers(0, 9), COSTS, min_size=2), st.integers(1, 300))
def test_of_those_who_always_wait_none_gets_more_than_two_things_ahead(costs, rounds):
    """The bound of the algorithm's authors: twice the dearest thing, whatever each costs."""
    spent = served(FairQueue(), {address: Fraction(cost) for address, cost in costs.items()}, rounds)
    assert max(spent.values()) - min(spent.values()) <= 2 * max(costs.values())


@given(st.dictionaries(st.integers(1, 9), COSTS, min_size=1), st.integers(0, 300))
def test_a_newcomer_waits_for_no_more_than_one_thing_of_each(costs, rounds):
    queue = FairQueue()
    served(queue, {address: Fraction(cost) for address, cost in costs.items()}, rounds)
    queue.add("new", "new")
    before = []
    while (address := queue.take()) != "new":
        queue.budget.charge(address, Fraction(costs[address]))
        queue.add(address, address)
        before.append(address)
    assert len(before) == len(set(before))


def test_who_comes_back_has_saved_up_nothing():
    queue = FairQueue()
    for _ in range(100):
        queue.add("busy", 1)
        queue.take()
        queue.budget.charge("busy", 1.0)
    for _ in range(4):
        queue.add("idle", "idle")
        queue.add("busy", "busy")
    got = []
    for _ in range(8):
        address = queue.take()
        queue.budget.charge(address, 1.0)
        got.append(address)
    assert "busy" in got[:4]


def test_of_one_address_the_least_rank_comes_first_and_what_is_not_allowed_is_passed_over():
    queue = FairQueue(rank=lambda thing: thing % 2)
    for thing in (1, 2, 3, 4):
        queue.add("a", thing)
    queue.add("b", 5)
    assert queue.take(lambda thing: thing > 4) == 5
    assert [queue.take() for _ in range(5)] == [2, 4, 1, 3, None]


def test_what_is_removed_is_not_taken_and_what_was_charged_too_much_is_given_back():
    queue = FairQueue()
    queue.add("a", 1)
    assert queue.remove("a", 1) and not queue.remove("a", 1) and queue.take() is None and len(queue) == 0
    queue.budget.charge("a", 3.0)
    queue.budget.charge("a", -2.0)
    queue.budget.charge("b", 2.0)
    queue.add("b", "b")
    queue.add("a", "a")
    assert queue.take() == "a"


def test_addresses_that_owe_nothing_are_forgotten():
    queue = FairQueue()
    for address in range(3 * MANY):
        queue.add(address, address)
        queue.take()
        queue.budget.charge(address, 1.0)
        queue.budget.charge("greedy", 1.0)
        queue.add("greedy", 0)
        queue.take()
    assert len(queue.budget._paid) <= MANY + 2


def test_what_is_spent_in_one_queue_counts_in_another_of_the_same_budget():
    budget = Budget()
    calls, messages = FairQueue(budget), FairQueue(budget)
    calls.add("greedy", "call")
    assert calls.take() == "call"
    budget.charge("greedy", 3.0)
    messages.add("greedy", "late")
    messages.add("reader", "early")
    assert [messages.take(), messages.take()] == ["early", "late"]


def test_no_charge_is_lost_between_threads():
    budget = Budget()

    def pay():
        for _ in range(2000):
            budget.charge("a", 1.0)

    threads = [Thread(target=pay) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert budget.place("a") == 8000
