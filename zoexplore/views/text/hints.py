"""A sentence for each field of the fold that its label does not explain."""

HINTS = {
    "z": "The noise along the directions over the most that one record adds to a step, as DP-SGD has it. Typing it sets σ.",
    "lipschitz": (
        "How steep a record's loss may be. At most Δ, the clip never acts. Above, or ∞ where nothing is known, it may act: then "
        "only the ridge outside it pulls two runs together, and the table says how large it must be."
    ),
    "releases": "How many iterates are given away, evenly spaced, the last included. Choosing the best of them is then free.",
    "records_per_person": "The most records that one person has: ε is for the person, with all of them.",
    "neighbours": "What an attacker tries to tell apart: this record or another in its place, or this record or none.",
    "sampling": "How a batch is chosen, where it is not all n records: fresh draws hide who is in it, fixed turns hide nothing.",
}
