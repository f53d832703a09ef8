"""Print the figures of every topic, or of the topics named, then one table of all ratios to peers:
`python -m benchmarks peers latency`.
"""

import argparse

from benchmarks import (
    curves,
    first,
    latency,
    mechanism,
    minibatch,
    peers,
    published,
    startup,
    tightness,
    training,
)
from benchmarks.timing import table

TOPICS = {
    "curves": curves.run,
    "peers": peers.run,
    "startup": startup.run,
    "tightness": tightness.run,
    "minibatch": minibatch.run,
    "published": published.run,
    "latency": latency.run,
    "first": first.run,
    "training": training.run,
    "mechanism": mechanism.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "topics", nargs="*", choices=[*TOPICS, []], metavar="topic", help=", ".join(TOPICS)
    )
    ratios: list[tuple[str, str, str, float]] = []
    for topic in parser.parse_args().topics or TOPICS:
        ratios += TOPICS[topic]() or []
        print()
    if ratios:
        print(
            "Peers, theirs over ours: a value above 1 is a looser bound, a time above 1 a slower way"
        )
        rows = [(what, peer, value, f"{time:.3g}") for what, peer, value, time in ratios]
        table(("what", "peer", "value", "time"), rows)


if __name__ == "__main__":
    main()
