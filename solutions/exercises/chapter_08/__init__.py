"""The exercises of chapter 8, mixed precision: bits, rounding, scaling, master weights, the wire, a bug."""
