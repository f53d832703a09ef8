"""The page's look: colours, the bounds' lines and style sheets."""
