"""A run: its fields, their names and ranges, and presets."""
