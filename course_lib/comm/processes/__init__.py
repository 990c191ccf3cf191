"""Programs on real processes of this machine: `runner` has `run`, the rest is what a run stands on.

`fork_server` starts processes, `startup` and `child` are what happens inside one, `launch` holds them all and ends
them, `supervisor` listens to them, `communicator` carries their messages, `board` compares both sides of each, `log`
and `merge` make the trace. `folder` and `interrupts` see to it that nothing is left behind.
"""
