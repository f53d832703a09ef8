"""The page's look: colours, the bounds' lines, style sheets."""
