"""Programs on a virtual clock: `event_loop` has `simulate`.

`communicator` is what a simulated rank holds, `switching` gives it a stack of its own.
"""
