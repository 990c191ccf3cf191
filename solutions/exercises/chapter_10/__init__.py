"""The exercises of chapter 10, limits of scaling: the crossover, speed-ups, top-k, one bit, PowerSGD, a bug."""
