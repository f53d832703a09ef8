"""A lesson: the explorer's figures as one file. Its sliders look up tables, so it needs no server."""
