"""The exercises of chapter 5, tensor parallelism: f and g, an MLP, heads, the loss, softmax, counts, a bug."""
