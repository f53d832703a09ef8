"""No loss that a page prints is smaller than what is computed: every epsilon in docs and the
README.

A number is either in `PRINTED`, with what computes it, or a target or a value of a range (`GIVEN`),
or held to its code by another test (`ELSEWHERE`). One that is in none of them fails, so that
whoever prints a new one says where it comes from.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from pathlib import Path

import pytest

from benchmarks.comparison import horizons
from zoexplore import Accounting, Setting, epsilon, guarantee
from zoexplore.bounds.tradeoff import TradeOff
from zoexplore.run.presets import DEMONSTRATION, PRESETS

ROOT = Path(__file__).parents[1]
NUMBER = r"(?:\d+(?:\.\d+)?|\.\d+)"
AFTER_EPSILON = re.compile(
    rf"(?:ε|\\varepsilon)\s*(?:=|of|is|from|at least|at most|\()?\s*({NUMBER})(?![\d\\])"
)


def sampled(q: float, mu: float, steps: int) -> Setting:
    """A run whose steps draw a record with chance q and then move by mu standard deviations of
    their noise.
    """
    n = 10_000
    batch = round(q * n)
    return Setting(
        n=n, d=1, K=1, T=steps, sigma=2 / (batch * mu), beta=1.0, batch=batch, clip=1.0, delta=1e-5
    )


def hidden(batch: int) -> Setting:
    return Setting(
        n=1000,
        d=1000,
        K=200,
        T=1000,
        sigma=0.3,
        beta=0.5,
        regime="strongly-convex",
        m=0.9,
        M=1.0,
        R=1.0,
        batch=batch,
        clip=1.0,
        lipschitz=1.0,
        delta=1e-5,
    )


@dataclass(frozen=True)
class Printed:
    """Words of a page, with a group for each number, and what these are. `loosely`: they may have
    become less since.
    """

    page: str
    words: str
    computed: Callable[[], list[float]]
    loosely: bool = False


def row(
    page: str,
    first: tuple[str, ...],
    computed: Callable[[], list[float]],
    count: int = 2,
    loosely: bool = False,
) -> Printed:
    """A table's row by its first cells."""
    cells = [re.escape(cell) for cell in first] + [rf"({NUMBER})"] * count
    return Printed(page, r"^\| *" + r" *\| *".join(cells) + r" *\|", computed, loosely)


def both_conversions(run: Setting, bound: str = "composition") -> list[float]:
    return [
        epsilon(run, bound, Accounting(conversion=name, sensitivity="clip"))
        for name in ("cks", "gaussian")
    ]


STEPS = (
    (".0032", ".625", "200"),
    (".0128", ".78", "200"),
    (".0032", ".625", "5000"),
    (".016", ".125", "1000"),
)
VARIED = {
    "nothing": {},
    "`releases=5`": {"releases": 5},
    '`neighbours="add-remove"`': {"neighbours": "add-remove"},
    "`records_per_person=4`": {"records_per_person": 4},
    '`batch=2000, sampling="cyclic"`': {"batch": 2000, "sampling": "cyclic"},
}
BY_NAME = {
    "composition": "composition",
    "the theorem": "theorem",
    "the closed form": "corollary",
    "the sharper bound": "sharp",
    "noisy gradient descent": "noisy-gd",
}
SHORT, HEAD = DEMONSTRATION.replace(T=40), PRESETS["linear-head"].setting
PRINTED = [
    *(
        row(
            "batches",
            cells,
            lambda q=q, mu=mu, T=T: both_conversions(sampled(float(q), float(mu), int(T))),
        )
        for cells in STEPS
        for q, mu, T in [cells]
    ),
    *(
        row(
            "batches",
            (str(b),),
            lambda b=b: (
                both_conversions(hidden(b), "theorem") + both_conversions(hidden(b), "sharp")
            ),
            4,
            loosely=True,
        )
        for b in (5, 50, 500)
    ),
    *(
        row(
            "batches",
            (words,),
            lambda changed=changed: [
                epsilon(DEMONSTRATION.replace(**changed), bound)
                for bound in ("composition", "sharp")
            ],
            loosely=True,
        )
        for words, changed in VARIED.items()
    ),
    *(
        row(
            "bounds",
            (words,),
            lambda bound=bound: [
                epsilon(DEMONSTRATION.replace(T=T), bound) for T in (200, 100_000)
            ],
            loosely=True,
        )
        for words, bound in BY_NAME.items()
    ),
    Printed(
        "README",
        rf'epsilon\(run, "composition"\)  # .*: ({NUMBER})\n.*released: ({NUMBER}),',
        lambda: [epsilon(DEMONSTRATION, bound) for bound in ("composition", "sharp")],
        loosely=True,
    ),
    Printed(
        "hidden_states",
        rf"a budget of ρ = ({NUMBER}) in nearly every run, and ε = ({NUMBER})",
        lambda: [guarantee(SHORT, "composition").rho, epsilon(SHORT, "composition")],
    ),
    Printed(
        "hidden_states",
        rf"late they cost ρ = ({NUMBER}) and ε = ({NUMBER})",
        lambda: [guarantee(SHORT, "sharp").rho, epsilon(SHORT, "sharp")],
        loosely=True,
    ),
    Printed(
        "published",
        rf"\(ε ({NUMBER}); with every iterate public and β = 1 it would be ({NUMBER})\)",
        lambda: [epsilon(HEAD, "sharp"), epsilon(HEAD.replace(beta=1.0), "composition")],
        loosely=True,
    ),
    Printed(
        "concepts",
        rf"finds at most ({NUMBER}) % of the members",
        lambda: [100 * float(TradeOff(epsilons=(1.0,), deltas=(1e-5,)).true_positive_rate(0.01))],
    ),
    Printed(
        "concepts",
        rf"advantage is at most ({NUMBER}); from the whole curve, ({NUMBER})\.",
        lambda: [
            TradeOff(epsilons=(epsilon(DEMONSTRATION, "sharp"),), deltas=(1e-5,)).advantage,
            guarantee(DEMONSTRATION, "sharp").advantage,
        ],
        loosely=True,
    ),
    Printed(
        "training",
        rf"ε is ({NUMBER}) from T = 464 to 10⁶.* ε = 2 at T = 100\s+costs ({NUMBER}) and ({NUMBER}) at 10⁶",
        lambda: [ends[of].values[-1][0] for ends in [horizons.epsilons()] for of in (0, 1, 2)],
        loosely=True,
    ),
]
GIVEN = re.compile(
    rf"(?:[Aa]t|digits,|MNIST,|all 1 438 records,) ε = {NUMBER}|\| ε = |what ε = 1 allows|So ε = 0 where|δ at ε = 0"
    r"|densities convolved\s+on a grid give ε"
)
# The page's code is run and its number compared: tests/mechanism/test_guide.py.
ELSEWHERE = {("mechanism", "1.04")}


def text(page: str) -> str:
    return (ROOT / ("README.md" if page == "README" else f"docs/{page}.md")).read_text(
        encoding="utf-8"
    )


def read(printed: Printed) -> Iterator[re.Match]:
    return re.finditer(printed.words, text(printed.page), re.M)


def last_digit(number: str) -> float:
    """One unit of it."""
    return 10.0 ** -len(number.partition(".")[2])


@pytest.mark.parametrize(
    "printed", PRINTED, ids=lambda printed: f"{printed.page}: {printed.words[:40]}"
)
def test_a_printed_loss_is_what_is_computed_rounded_up(printed):
    (found,) = read(printed)
    computed = [float(value) for value in printed.computed()]
    assert len(found.groups()) == len(computed)
    for number, true in zip(found.groups(), computed, strict=True):
        shown = float(number)
        assert true <= shown, f"{number} is printed for {true}"
        assert printed.loosely or shown < true + last_digit(number), (
            f"{number} is printed for {true}"
        )
        assert shown <= 2 * true < inf


def test_every_epsilon_on_a_page_is_held_to_something():
    unknown = []
    for page in ("README", *sorted(path.stem for path in (ROOT / "docs").glob("*.md"))):
        spans = [
            found.span() for printed in PRINTED if printed.page == page for found in read(printed)
        ]
        spans += [found.span() for found in GIVEN.finditer(text(page))]
        for found in AFTER_EPSILON.finditer(text(page)):
            held = (
                any(start <= found.start() < end for start, end in spans)
                or (page, found[1]) in ELSEWHERE
            )
            unknown += [] if held else [(page, text(page)[found.start() - 40 : found.end() + 20])]
    assert not unknown
