"""What is accounted: a run and its fields, their names and ranges, and the runs to begin with."""
