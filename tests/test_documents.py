"""What the page shows of the project's own pages: every bound is proved somewhere, and its proof
can be opened.
"""

import re

import pytest

from zoexplore import BOUNDS
from zoexplore.run.documents import Reference, as_html, read, section

CITED = sorted({reference for bound in BOUNDS.values() for reference in bound.proofs})


@pytest.mark.parametrize("bound", BOUNDS)
def test_every_bound_is_proved_somewhere(bound):
    assert BOUNDS[bound].proofs
    assert all(str(reference) in BOUNDS[bound].cites for reference in BOUNDS[bound].proofs)


@pytest.mark.parametrize("reference", CITED, ids=str)
def test_what_is_cited_is_shown_with_its_formulas(reference):
    said, shown = section(reference), as_html(reference)
    assert reference.heading in said.splitlines()[0] and len(said.splitlines()) > 2
    formulas = re.findall(r"\$\$.*?\$\$|\$[^$]+\$", said, re.S)
    assert shown.count("<math ") == len(formulas) and "$" not in shown
    assert not re.findall(r">\\\w+<", shown)  # what the converter does not know stays as it is
    assert "<script" not in shown and 'href="#' not in shown


def test_a_section_ends_where_the_next_begins():
    whole = section(Reference("bounds", "The mechanism"))
    assert "### Contraction of the first-order step" in whole and "From a budget" not in whole
    assert section(Reference("bounds", "Contraction of the first-order step")) in whole
    assert whole in read("bounds")


def test_what_is_not_there_is_refused():
    with pytest.raises(KeyError, match="no heading 'Nothing'"):
        section(Reference("bounds", "Nothing"))
    with pytest.raises(FileNotFoundError, match=r"docs/nothing\.md"):
        section(Reference("nothing", "Nothing"))
