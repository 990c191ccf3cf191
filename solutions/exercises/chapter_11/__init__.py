"""The exercises of chapter 11, input and output: shards, who reads what, caches, loading ahead, storage, a bug."""
