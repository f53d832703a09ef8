"""Which address a session's calls are charged to."""

from types import SimpleNamespace

import pytest

from zoexplore.compute import session_task
from zoexplore.compute.session_task import own_address

NAMELESS = SimpleNamespace(remote_ip=None)  # as Tornado has it of a request that no browser has sent


@pytest.mark.parametrize(
    "request_of_host", [None, SimpleNamespace(arguments={}), NAMELESS], ids=["none", "Jupyter's", "none sent"]
)
def test_a_host_that_does_not_tell_the_address_is_not_asked_for_it(monkeypatch, request_of_host):
    context = SimpleNamespace(request=request_of_host)
    monkeypatch.setattr(session_task, "served", lambda: SimpleNamespace(session_context=context))
    assert own_address() is None


def test_an_address_counts_as_its_network(monkeypatch):
    context = SimpleNamespace(request=SimpleNamespace(remote_ip="2001:db8:1:2::3"))
    monkeypatch.setattr(session_task, "served", lambda: SimpleNamespace(session_context=context))
    assert own_address() == "2001:db8:1::/48"
