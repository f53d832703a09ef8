"""Everything set and read: sliders and fields, read-outs, planning, theory, pins, the toolbar."""
