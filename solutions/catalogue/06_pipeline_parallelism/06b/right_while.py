def one_f_one_b(stages, micro_batches):
    def order(rank):
        forward = backward = 0
        while backward < micro_batches:
            if forward < micro_batches and forward - backward < stages - rank:
                yield f"F{forward}"
                forward += 1
            else:
                yield f"B{backward}"
                backward += 1

    return [list(order(rank)) for rank in range(stages)]
