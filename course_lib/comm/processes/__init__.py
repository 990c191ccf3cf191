"""Child processes of this machine: started, polled, killed and reaped, whatever they do.

`machine` says how many fit, `fork_server` starts them, `startup` is what each does first, `pipes` reads what it says,
and `children` holds all of them, with a temporary `folder`. A run of ranks (`comm.transport`), the
members of a parameter server and an object store stand on it.
"""
