"""What strangers type, paste, link and upload: nonsense, near misses, and what others have broken
parsers with.
"""

from hypothesis import strategies as st

from tests.properties.runs import accountings, lively
from zoexplore.questions.export import every_field, to_query, to_yaml
from zoexplore.run.setting import FIELD_NAMES
from zoexplore.views.address import PARTS
from zoexplore.views.state import OPTIONS
from zoexplore.views.tabs import VIEWS

NAMES = (*FIELD_NAMES, *OPTIONS)
KEYS = (*NAMES, "show", "lock", "tab", "against", "pin", "compare", "setting", "accounting")
SHOWABLE = (*PARTS, *VIEWS, *NAMES)

HOSTILE = [
    "",
    " ",
    "\x00",
    "\ud7ff",
    "\u202e",
    "\ufeff",
    "😀",
    "a" * 3000,
    "-0",
    "+1",
    "1e400",
    "-1e400",
    "1e-400",
    "nan",
    "inf",
    "-inf",
    "∞",
    "NaN",
    "Infinity",
    "0x10",
    "1_000",
    "1,5",
    "１２",
    "²",
    "9" * 5000,
    "1" + "0" * 400,
    "1e5000",
    "1/0",
    "None",
    "null",
    "~",
    "true",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "javascript:alert(1)",
    "${7*7}",
    "{{7*7}}",
    "%s%n",
    "%00",
    "%",
    "../../etc/passwd",
    "file:///etc/passwd",
    "'; DROP TABLE runs; --",
    "&amp;",
    "$$x$$",
    "\\",
    "\r\nSet-Cookie: a=b",
    "T=1&T=2",
    "__class__",
]

numbers = st.one_of(
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.sampled_from([0, 1, -1, 2**53, 2**53 + 1, 10**400, 5e-324, 1e308]),
)
texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(max_size=80),
    numbers.map(str).filter(lambda text: len(text) < 4000),
)
plausible = st.one_of(
    st.integers(1, 1000),
    st.floats(0, 1),
    st.sampled_from(["strongly-convex", "convex", "cks", "optimal", "clip"]),
)
values = st.one_of(texts, numbers, plausible, st.none(), st.booleans())
objects = st.recursive(
    st.one_of(
        values,
        st.binary(max_size=8),
        st.complex_numbers(),
        st.decimals(allow_nan=False),
        st.fractions(),
        st.dates(),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3), st.tuples(inner)
    ),
    max_leaves=5,
)


@st.composite
def damaged(draw, whole):
    """A good text with a few characters deleted, doubled, replaced or moved."""
    text = draw(whole)
    for _ in range(draw(st.integers(1, 4))):
        at, length = draw(st.integers(0, len(text))), draw(st.integers(0, 6))
        other = draw(
            st.one_of(
                st.just(""),
                st.sampled_from(HOSTILE),
                st.text(max_size=4),
                st.just(text[at : at + length] * 2),
            )
        )
        text = text[:at] + other + text[at + length :]
    return text


good_queries = st.builds(to_query, lively(), accountings)
good_files = st.builds(to_yaml, lively(), accountings)


@st.composite
def pins(draw):
    """What an address says of a pin: mostly K:52,T:9~name."""
    fields = draw(st.dictionaries(st.one_of(st.sampled_from(NAMES), texts), values, max_size=4))
    return (
        ",".join(f"{k}:{v}" for k, v in fields.items())
        + draw(st.sampled_from(["~", "~~", ""]))
        + draw(texts)
    )


@st.composite
def pairs(draw):
    """A key of an address and something for it."""
    key = draw(st.one_of(st.sampled_from(KEYS), texts))
    some = st.lists(st.one_of(st.sampled_from(SHOWABLE), texts), max_size=4).map(",".join)
    return key, draw({"pin": pins(), "show": some, "lock": some}.get(key, values.map(str)))


def fields_of(setting, accounting):
    """All fields as text."""
    return every_field(setting, accounting)
