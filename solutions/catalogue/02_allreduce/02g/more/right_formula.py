def bad_ring_cost(message_bytes, world_size, latency_s, bytes_per_s):
    steps = world_size - 1
    total_bytes = steps * world_size * message_bytes
    bytes_per_rank = steps * message_bytes
    seconds = steps * (latency_s + message_bytes / bytes_per_s)
    return steps, total_bytes, bytes_per_rank, seconds
