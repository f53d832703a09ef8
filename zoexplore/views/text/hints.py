"""A sentence for each field of the fold that its label does not explain."""

HINTS = {
    "z": "The noise along the directions, divided by the most that one record can add to a step, as in DP-SGD. Typing it sets σ.",
    "lipschitz": (
        "How steep a record's loss may be. Up to Δ the clip never acts. Above it, or at ∞ if nothing is known, it may act; then "
        "only the ridge outside the clip pulls two runs together, and the table says how large it must be."
    ),
    "releases": "How many iterates are released, evenly spaced, the last included. Choosing the best of them then costs nothing.",
    "records_per_person": "The most records that one person has: ε is for the person, with all of them.",
    "neighbours": "What an attacker tries to tell apart: this record or another in its place, or this record or none.",
    "sampling": "How a batch is chosen, where it is not all n records: fresh draws hide who is in it, fixed turns hide nothing.",
}
