"""Everything drawn: the figures, their axes and marks, and the pictures that are saved of them."""
