"""Parameter groups with rates of their own: the update is scaled after the noise, so that composition alone holds."""

from math import inf

import pytest
import torch

from tests.mechanism.problems import SETTING, ReadElsewhere, classes, cross_entropy, network, run
from zoexplore.mechanism import Declared, NoisyZOGD, Sources

FREE = SETTING.replace(d=51, R=inf, xi=0.1, eta=0.3, clip=9.0, M=1.0, m=0.25, ridge=0.25)
DECLARED = Declared("strongly-convex", M=1.0, m=0.25, lipschitz=9.0)
LR, OWN = FREE.eta / FREE.K, 0.025


def made(make=network, share=None, **options):
    """With the last layer's rate its own, or all at the last layer's where `share` is None."""
    module = make()
    layers = module.layers if isinstance(module, ReadElsewhere) else module
    groups = [{"params": layers[3].parameters(), "lr": OWN}] if share else ()
    return NoisyZOGD(module, cross_entropy, FREE, sources=Sources(1, 2), param_groups=groups, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"directions": "dense"},
        {"directions": "streamed"},
        {"keep_copy": False},
        {"make": ReadElsewhere, "keep_copy": False},  # is moved in place
    ],
    ids=str,
)
def test_each_group_moves_by_its_share_of_the_same_released_update(options):
    alike, grouped = made(**options), made(share=True, **options)
    start = alike.w
    assert [group["lr"] for group in grouped.param_groups] == [LR, OWN]
    for optimiser in (alike, grouped):
        run(optimiser, 1, classes())
    shares = torch.ones(51).double()
    shares[-15:] = OWN / LR
    torch.testing.assert_close(grouped.w, start + shares * (alike.w - start), rtol=1e-6, atol=1e-8)


def test_composition_counts_them_and_bounds_for_the_last_iterate_say_why_not():
    alike, grouped = (run(made(share=share, declared=DECLARED), 3, classes()) for share in (None, True))  # believed
    expected, found = alike.privacy_report(), grouped.privacy_report()
    plain = run(made(), 3, classes()).privacy_report()  # what is declared counts where the bounds for the last iterate do
    assert found.epsilon == plain.epsilon >= expected.guarantees["composition"].epsilon
    others = [g for bound, g in found.guarantees.items() if bound != "composition"]
    assert all(g.epsilon == inf and "parameter groups have learning rates of their own" in g.reason for g in others)
    assert expected.guarantees["sharp"].epsilon < inf


def test_schedulers_move_all_rates_and_a_group_may_rest():
    optimiser = made(share=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, [lambda t: 0.5**t, lambda t: float(t > 0)])
    first, last = optimiser.w[:36], optimiser.w[-15:]
    run(optimiser, 1, classes())
    assert torch.equal(optimiser.w[-15:], last) and not torch.equal(optimiser.w[:36], first)
    schedule.step()
    run(optimiser, 1, classes())
    assert not torch.equal(optimiser.w[-15:], last)
    assert [step.eta for step, _ in optimiser.record.stages] == pytest.approx([FREE.eta, FREE.eta / 2])
    for group in optimiser.param_groups:
        group["lr"] = 0.0
    run(optimiser, 1, classes())
    assert optimiser.record.steps == 2


def test_a_state_goes_on_with_the_same_groups_alone():
    whole, first, second = (made(share=True) for _ in range(3))
    run(whole, 4, classes())
    second.load_state_dict(run(first, 2, classes()).state_dict())
    assert torch.equal(run(second, 2, classes()).w, whole.w)
    with pytest.raises(ValueError, match="other parameter groups"):
        made().load_state_dict(first.state_dict())


def test_what_a_group_may_not_hold_is_refused_in_words():
    module = network()
    module[0].weight.requires_grad_(False)
    setting = FREE.replace(d=27)

    def grouped(*groups):
        return NoisyZOGD(module, cross_entropy, setting, sources=Sources(1, 2), param_groups=groups)

    with pytest.raises(ValueError, match=r"weight_decay in a parameter group is not allowed: .* a ridge is the setting's"):
        grouped({"params": module[3].parameters(), "weight_decay": 0.1})
    for wrong in ([module[0].weight], [module[3].weight, module[3].weight]):
        with pytest.raises(ValueError, match="not trained, or in two groups"):
            grouped({"params": wrong, "lr": 0.1})
    made = grouped({"params": module[3].parameters(), "lr": -1.0})
    with pytest.raises(ValueError, match=r"lr = -1.0 is not allowed"):
        run(made, 1, classes())
