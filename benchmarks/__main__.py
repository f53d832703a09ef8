"""Print every topic's figures, or those named: `python -m benchmarks curves peers startup tightness minibatch latency`."""

import argparse

from benchmarks import curves, latency, minibatch, peers, startup, tightness

TOPICS = {
    "curves": curves.run,
    "peers": peers.run,
    "startup": startup.run,
    "tightness": tightness.run,
    "minibatch": minibatch.run,
    "latency": latency.run,
}


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("topics", nargs="*", choices=[*TOPICS, []], metavar="topic", help=", ".join(TOPICS))
    for topic in parser.parse_args().topics or TOPICS:
        TOPICS[topic]()
        print()


if __name__ == "__main__":
    main()
