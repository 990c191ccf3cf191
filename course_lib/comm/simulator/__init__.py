"""Programs on a virtual clock: `simulate` has the call, `event_loop` what goes on behind it.

`communicator` is what a simulated rank holds, `stacks` gives it a stack of its own, `torch_state` its own random
numbers and settings of torch; `nccl` has NCCL's rules.
"""
