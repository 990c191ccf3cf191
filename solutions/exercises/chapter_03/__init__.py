"""The exercises of chapter 3, parameter servers: who waits for whom, how old a gradient may be, and what it counts."""
