"""Controls and read-outs: sliders and fields, numbers, planning, theory, the story, the toolbar."""
