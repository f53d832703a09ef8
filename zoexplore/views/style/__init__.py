"""How everything looks: colours, the bounds' lines, style sheets."""
