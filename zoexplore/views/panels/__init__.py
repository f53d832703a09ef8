"""Everything set and read: sliders and fields, read-outs, planning, theory, the story, the toolbar."""
