"""Programs on a virtual clock: `simulate` has the call, `event_loop` what goes on behind it.

`communicator` is what a simulated rank holds, `switching` gives it a stack of its own; `nccl` has NCCL's rules.
"""
