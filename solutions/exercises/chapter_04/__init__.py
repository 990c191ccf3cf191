"""The exercises of chapter 4, model parallelism: cut layers, matrices on a grid, halos, a choice."""
