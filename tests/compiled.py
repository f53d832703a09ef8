"""Every kernel, called once, as at set-up. As a script, ahead of processes that would each compile
them.
"""

from zoexplore.compute.prepare import compositions, hidden_states, main, the_rest


def call_all():
    """Have whatever the accountant compiles compiled, or loaded into this process."""
    for part in (hidden_states, compositions, the_rest):
        for call in part():
            call()


if __name__ == "__main__":
    main()
