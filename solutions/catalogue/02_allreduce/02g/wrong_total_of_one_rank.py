# expect: That is what one rank sends
def bad_ring_cost(message_bytes, world_size, latency_s, bytes_per_s):
    steps = world_size - 1
    total_bytes = steps * message_bytes
    bytes_per_rank = steps * message_bytes
    seconds = steps * (latency_s + message_bytes / bytes_per_s)
    return steps, total_bytes, bytes_per_rank, seconds
