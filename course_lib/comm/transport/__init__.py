"""A message between real processes, in the order in which it travels.

`runner` has `run`, which makes a plan, starts the ranks and supervises them; `child` is one of them from its start to
its answer. Its program sends through a `communicator`: a message is described on the `board` in shared memory, goes
through torch.distributed, and is compared when it has arrived; it stands in the rank's `log`, and all logs become one
trace. Three ways differ: `started_functions` have a thread and a board of their own, `batched` is for NCCL, and on
slowed links a message is `emulated` by the parent. `deadlock` reads off the boards who waits for whom. Under `torchrun`
there is no parent, and each rank watches by itself.
"""
