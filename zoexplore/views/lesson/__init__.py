"""A lesson: the explorer's figures as one file, which moves by tables and needs no server."""
