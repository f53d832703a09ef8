"""Links, links for teaching, pins and files by strangers: always a valid state and words about the
rest, within a second.
"""

import re
from html import escape
from math import isnan

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.effort import examples
from tests.fuzz.patience import within_a_second
from tests.fuzz.strings import (
    HOSTILE,
    damaged,
    fields_of,
    good_files,
    good_queries,
    objects,
    pairs,
    texts,
)
from zoexplore import Accounting, Setting, curve
from zoexplore.questions.export import (
    from_fields,
    from_query,
    from_yaml,
    to_csv,
    to_python,
    to_query,
    to_yaml,
)
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.reading import LARGEST_FILE
from zoexplore.views.address import Address, Bridge, Teaching
from zoexplore.views.explorer import Explorer
from zoexplore.views.pins import MOST_PINS, Pins
from zoexplore.views.state import State
from zoexplore.views.tabs import VIEWS, Tabs

LONGEST_PROBLEM = 2000  # characters

queries = st.one_of(
    texts,
    good_queries,
    damaged(good_queries),
    st.lists(pairs(), max_size=6).map(lambda all_pairs: "&".join(f"{k}={v}" for k, v in all_pairs)),
)


def sound(loaded):
    """What was read is a run that can be written and read again, and what was not is said in short
    words.
    """
    setting, accounting = loaded.setting, loaded.accounting
    assert isinstance(setting, Setting) and isinstance(accounting, Accounting)
    assert not any(isinstance(v, float) and isnan(v) for v in setting.as_dict().values())
    again = from_query(to_query(setting, accounting))
    assert (again.setting, again.accounting, again.problems) == (setting, accounting, ())
    for problem in loaded.problems:
        assert problem and len(problem) < LONGEST_PROBLEM
        assert "Traceback" not in problem and not re.search(
            r'File "|object at 0x|site-packages', problem
        )


@given(queries)
@example("M=1e-310")
@example("M=1e-310&eta=nan")
@example("M=5e-324&K=520&m=0&ridge=0")
@examples(250)
def test_any_query_is_a_state(query):
    sound(within_a_second(lambda: from_query(query)))


@given(
    st.dictionaries(
        objects.filter(lambda o: o.__hash__ is not None and not isinstance(o, tuple)),
        objects,
        max_size=5,
    )
)
@examples(75)
def test_any_fields_are_a_state(given_fields):
    sound(within_a_second(lambda: from_fields(given_fields)))


@given(
    st.one_of(
        texts,
        damaged(good_files),
        st.lists(st.one_of(texts, st.sampled_from("[]{}&*!|>-?:,#%@`'\" \n\t")), max_size=30).map(
            "".join
        ),
    )
)
@examples(250)
def test_any_file_is_a_state(text):
    sound(within_a_second(lambda: from_yaml(text)))


DEEP = [
    "[" * 40_000,
    "{a: " * 20_000,
    "- " * 40_000,
    "a:\n" + "".join(" " * i + "b:\n" for i in range(400)),
    "? " * 20_000,
    "!!" * 30_000,
]
BOMBS = [
    "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"a{i + 1}: &a{i + 1} [{','.join([f'*a{i}'] * 9)}]\n" for i in range(12)),
    "a: &a {<<: *a}",
    "&a [*a]",
    "K: &a [*a]",
    "a: &a {K: 1}\nb: &b {<<: [*a, *a, *a]}\n<<: [*b, *b]",
    "a0: &a0 {K: 1}\n"
    + "".join(f"a{i + 1}: &a{i + 1} {{<<: [{', '.join([f'*a{i}'] * 9)}]}}\n" for i in range(8)),
    "K: " + "1:" * 30_000 + "1",
    "K: 0b" + "1" * 90_000,
    "K: " + "9" * 90_000,
    "K: 1" + "_" * 90_000,
    "K: 0o" + "7" * 90_000,
    "x" * (LARGEST_FILE + 1),
    "&" + "a" * 90_000 + " b",
    "%YAML 9.9\n---\nK: 1",
    "---\nK: 1\n---\nK: 2",
    "\t\tK: 1",
    "K: 1\nK: 2",
]
TAGS = [
    "python/object/apply:os.system [id]",
    "python/name:os.system",
    "python/module:os",
    "binary gA==",
    "set {a}",
    "timestamp 2001-01-01",
]


@pytest.mark.parametrize(
    "text", [*DEEP, *BOMBS, *(f"K: !!{tag}" for tag in TAGS)], ids=lambda text: repr(text[:24])
)
def test_what_breaks_yaml_parsers_breaks_nothing(text):
    sound(within_a_second(lambda: from_yaml(text)))


@pytest.fixture(scope="module")
def tabs():
    """One for all visits, since it takes far longer to make than to use."""
    return Tabs()


@given(query=queries)
@examples(75)
def test_any_address_can_be_visited(tabs, query):
    """The page's own path: the state is valid, the note is short, and the address written back is
    one that can be read.
    """
    address = Address(State(), Bridge(), Teaching.of(query, VIEWS), Pins(), tabs)
    within_a_second(lambda: address.read("?" + query))
    assert len(address.pins.pins) <= MOST_PINS and len(address.state.note) < 30 * LONGEST_PROBLEM
    assert "Traceback" not in address.state.note and "site-packages" not in address.state.note
    written = address.search()
    setting, accounting = address.state.setting, address.state.accounting
    address.read(written)
    assert (address.state.setting, address.state.accounting) == (setting, accounting)


@given(st.one_of(good_queries, damaged(good_queries)))
@examples(40)
def test_what_is_read_is_written_back_by_every_export(query):
    loaded = from_query(query)
    setting, accounting = loaded.setting, loaded.accounting
    assert from_yaml(to_yaml(setting, accounting)).setting == setting
    assert from_fields(fields_of(setting, accounting)).setting == setting
    columns = {"T": [1, 10], **curve(setting, "T", [1, 10], accounting=accounting)}
    assert "nan" not in to_csv(setting, accounting, columns).split("T,")[-1]
    compile(to_python(setting, accounting), "snippet", "exec")


@pytest.mark.parametrize("text", [h for h in HOSTILE if "<" in h])
def test_markup_is_text_wherever_it_is_shown(text):
    """What a stranger writes reaches the page in notes and in pins' names, never as elements."""
    explorer = Explorer(
        search="?"
        + to_query(DEMONSTRATION.replace(T=9), Accounting())
        + f"&pin=K:5~{text}&{text}=1&tab={text}&K={text}"
    )
    shown = []

    def walk(part):
        shown.append(str(getattr(part, "object", "") or ""))
        for inner in getattr(part, "objects", []) or []:
            walk(inner)

    walk(explorer.__panel__())
    said = "".join(shown)
    assert text not in said.replace(escape(text), "")
