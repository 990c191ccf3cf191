# fmt: off
# As Black breaks lines of 88 characters: one begins with %, inside parentheses.
import torch


def backup_server(comm, parameters, gradients, seconds, take, steps):
    if comm.rank > 0:
        return work_in_steps(comm, parameters, gradients, seconds)
    note_of_the_worker = torch.zeros(1, dtype=torch.int64)
    gradient_of_the_worker = torch.empty_like(parameters)
    sum_of_the_step = torch.zeros_like(parameters)
    workers_that_wait_for_the_step, gradients_taken, stopped = [], 0, 0
    while stopped < comm.world_size - 1:
        worker = comm.recv(note_of_the_worker)
        comm.recv(gradient_of_the_worker, worker)
        if note_of_the_worker.item() < gradients_taken // take:
            workers_to_be_answered = [worker]
        else:
            sum_of_the_step += gradient_of_the_worker
            workers_that_wait_for_the_step.append(worker)
            gradients_taken += 1
            the_step_goes_on = (
                gradients_taken
                % take
            )
            if the_step_goes_on:
                continue
            parameters = parameters - sum_of_the_step
            sum_of_the_step.zero_()
            workers_to_be_answered = workers_that_wait_for_the_step
            workers_that_wait_for_the_step = []
        for waiting in workers_to_be_answered:
            if gradients_taken == take * steps:
                comm.send(torch.tensor([STOP]), waiting)
                stopped += 1
                continue
            comm.send(torch.tensor([gradients_taken // take]), waiting)
            comm.send(parameters, waiting)
    return parameters
