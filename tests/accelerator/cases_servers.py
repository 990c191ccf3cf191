"""Cases of parameter servers."""

from functools import partial

from cases import FROM_ANYONE, Here, case

from course_lib import parameter_server as ps
from course_lib.parameter_server import sandblaster as sb
from course_lib.parameter_server.work_queue import portion_slice
from course_lib.tasks import Classifier


def _served(comm, here: Here, policy, make_optimizer=lambda: ps.Sgd(0.1), servers=1):
    mail, plan, target = ps.CommMailbox(comm), ps.shard_plan([10], servers), here.rand(10, seed=5)
    if comm.rank < servers:
        own, workers = ps.take(here.rand(10), plan[comm.rank]), range(servers, comm.world_size)
        server = ps.Server(comm.rank, own, policy, workers, make_optimizer(), updates=4)
        ps.run_actor(mail, server)
        return server.parameters

    def gradient(parameters, clock):
        mail.compute(0.001 * comm.rank)
        return parameters - target

    ps.run_actor(mail, ps.Worker(comm.rank, dict(enumerate(plan)), gradient))
    return None


for _name, _policy in {
    "synchronous": ps.synchronous(2),
    "asynchronous": ps.asynchronous(),
    "stale synchronous": ps.stale_synchronous(1),
    "softsync": ps.softsync(2, 1),
}.items():
    case(f"servers: {_name}", covers=["CommMailbox"], not_on_nccl=FROM_ANYONE)(partial(_served, policy=_policy))
case("servers: two shards", 4, not_on_nccl=FROM_ANYONE)(partial(_served, policy=ps.synchronous(2), servers=2))
case("servers: Adagrad", 4, not_on_nccl=FROM_ANYONE)(
    partial(_served, policy=ps.asynchronous(), make_optimizer=partial(ps.Adagrad, 0.1), servers=2)
)


@case("servers: the simple one, a tree, Downpour", 4, not_on_nccl=FROM_ANYONE)
def _(comm, here):
    target, found = here.rand(5, seed=4), []
    (plan,) = ps.shard_plan([5], 1)
    for kind in ("simple", "tree", "Downpour"):
        comm.barrier()  # no message of one kind meets a server of the next
        mail, above = ps.CommMailbox(comm), 1 if kind == "tree" else 0
        workers = [1] if kind == "tree" else [1, 2, 3]
        if comm.rank == 0 and kind == "simple":
            server = ps.SimpleServer(here.rand(5), ps.synchronous(3), workers, 0.1, 3)
        elif comm.rank == 0:
            policy = ps.synchronous(2) if kind == "tree" else ps.asynchronous()
            server = ps.Server(0, here.rand(5), policy, workers, ps.Sgd(0.1), updates=4)
        elif comm.rank == 1 and kind == "tree":
            ps.run_actor(mail, ps.Aggregator(1, 0, [2, 3]))
            continue
        elif kind == "Downpour":
            ps.replicate(mail, comm.rank, [plan], lambda row: row - target, n_fetch=2, n_push=2)
            continue
        else:
            ps.run_actor(mail, ps.Worker(comm.rank, {above: plan}, lambda row, clock: row - target))
            continue
        ps.run_actor(mail, server)
        found.append(server.parameters)
    return found


@case("servers: two for a copy", 4)
def _(comm, here):
    row, target = here.rand(6), here.rand(6, seed=2)
    if comm.rank < 2:
        ps.serve_a_copy(comm, 2, row, updates=2, rate=0.1)
    else:
        ps.work_for_a_copy(comm, 2, row, updates=2, gradient=lambda own, number: own - target)
    return row


@case("servers: Sandblaster", 4, covers=["PortionWorker"], not_on_nccl=FROM_ANYONE)
def _(comm, here):
    task, mail, digits = Classifier(), ps.CommMailbox(comm), here.digits()
    (plan,) = ps.shard_plan(task.lengths, 1)
    if comm.rank == 0:
        coordinator = sb.Coordinator(0, sb.lbfgs_commands(2, 3, sb.FixedStep()), [1], [2, 3], 4)
        ps.run_actor(mail, coordinator)
        return [step.loss for step in coordinator.result]
    if comm.rank == 1:
        server = sb.VectorServer(1, ps.take(task.initial().to(here.device), plan), 0, [2, 3])
        ps.run_actor(mail, server)
        return server.visited

    def gradient(row, portion):
        part = portion_slice(portion, 4, 100)
        mail.compute(0.01 * comm.rank)
        given = digits.train_inputs[:100][part], digits.train_labels[:100][part]
        return task.loss(row, *given) / 4, task.gradient(row, *given) / 4

    return ps.run_actor(mail, sb.PortionWorker(comm.rank, 0, {1: plan}, gradient))


@case("servers: a message as bytes", 1, on_host=True)
def _(comm, here):
    return ps.Message.from_bytes(ps.Message("push", 1, payload=here.rand(4)).to_bytes()).payload
