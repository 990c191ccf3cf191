"""The exercises of chapter 1, data parallelism: parts of an epoch, averages, overlap, batch normalization and ZeRO."""
