"""Numbers as readers want them, and the sentences and formulas round them."""
