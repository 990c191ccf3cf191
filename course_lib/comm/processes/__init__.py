"""Processes of this machine that are started, heard and ended, whatever they do.

`machine` says what there is room for, `fork_server` starts processes (`undisturbed`), `startup` is what one does first,
`pipes` is what it says, `family` holds all and ends them, in a `folder` that outlives nobody. A run of ranks
(`comm.transport`), the members of a parameter server and an object store stand on it.
"""
