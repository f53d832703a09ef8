"""The figures, with their axes, marks and legends."""
