"""Exercise 07f: a step of real torch that recomputes segments, judged by gradients and by counts."""

import torch

from course_lib.grading.exercise import Case
from course_lib.grading.exercises.common import function_exercise
from course_lib.grading.exercises.counted import counting, judges_counter, judges_watch
from course_lib.grading.verdict import difference


def networks(rng):
    """An input, a weight a layer, and the number of segments, which does not always divide the layers."""
    calls = [(*_network(rng, *each), each[1]) for each in ((4, 2), (9, 3), (10, 4), (16, 4), (3, 1), (7, 4), (11, 4))]
    expected = [[*_gradients(x, weights), *_limits(len(weights), segments)] for x, weights, segments in calls]
    yield Case(1, calls, expected, label="steps with segments")


def _network(rng, layers, segments):
    """Whole numbers, of which something arrives at the end, and gradients that are not ones between the segments."""
    while True:
        x = torch.from_numpy(rng.integers(1, 9, (3, 4))).double()
        weights = [torch.from_numpy(rng.choice([-1, 0, 1, 1], (4, 4))).double() for _ in range(layers)]
        output, of_x, of_weights = _gradients(x, weights)
        told = segments == 1 or difference(of_x, _from_ones(x, weights, segments)[1])
        if told and bool(output.min() == 0) and all(bool(each.any()) for each in (of_x, *of_weights)):
            return x, weights


def _gradients(x, weights, cuts=()):
    """The output, and the gradients of its sum; behind each cut, those that begin with ones."""
    leaves = [each.clone().requires_grad_() for each in (x, *weights)]
    with torch.enable_grad():
        y, ends = leaves[0], []
        for number, weight in enumerate(leaves[1:]):
            if number in cuts:
                ends.append(y.sum())
                y = y.detach()
            y = torch.relu(y @ weight)
        torch.stack([*ends, y.sum()]).sum().backward()
    gradients = [torch.zeros_like(each) if each.grad is None else each.grad for each in leaves]
    return [y.detach(), gradients[0], gradients[1:]]


def _from_ones(x, weights, segments):
    """What comes if every segment's way back begins with ones."""
    return _gradients(x, weights, range(0, len(weights), -(-len(weights) // segments))[1:])


def _limits(layers, segments):
    most = segments - (-layers // segments)

    def alive(count):
        if 0 <= count <= most:
            return None
        text = f"has {count} outputs alive at once; segments + ⌈layers / segments⌉ = {most} are enough"
        everything = "That is what autograd keeps: run a segment in forward() under torch.no_grad()"
        fewer = "Cut so many segments, and keep nothing of a segment but its input"
        return f"{text}. {everything if count == layers else fewer}"

    def runs(count):
        if 2 * layers - most <= count <= 2 * layers:
            return None
        if count < 2 * layers:
            return f"runs {count} layers, counted by the judge: to recompute, call `through` once more on the way back"
        return (
            f"runs {count} layers, {2 * layers} are enough: once forward, and once more when the gradient comes. Store "
            "the whole segment in one go"
        )

    return alive, runs


def judged_layers(answer):
    """The same step, with the judge's counts of living outputs and of layers in place of those that it gives.

    Once more, all weights are doubled before the way back begins: then the gradient of a weight is doubled for each
    layer behind it, and for each in front of it that is run again. So those that come from the same kept value grow
    alike, and what was kept shows in the gradients themselves.
    """

    def is_one_of(result, weights):
        return getattr(result, "shape", None) == weights[0].shape and any(
            bool((result == each).all() or (result == each.T).all()) for each in weights
        )

    def doubled_between(x, weights, segments):
        given = [each.clone() for each in weights]
        copies = {each.untyped_storage().data_ptr(): each for each in given}

        def seen(operator, args, result):
            if operator.overloadpacket.__name__ == "ones_like":  # a way back begins
                while copies:
                    copies.popitem()[1].mul_(2)
            elif copies and is_one_of(result, weights):
                copies[result.untyped_storage().data_ptr()] = result.detach()

        with judges_watch(seen):
            return answer(x, given, segments)[2]

    def kept(gradients, x, weights, segments):
        try:
            pairs = zip(doubled_between(x, weights, segments), gradients, strict=True)
            return len({float(new.abs().sum() / old.abs().sum()) for new, old in pairs})
        except Exception:  # the gradients are wrong anyway, or there are none
            return 0

    def step(x, weights, segments):
        with judges_counter("relu") as layers:
            came = answer(x, weights, segments)
        if not isinstance(came, (list, tuple)) or len(came) != 5:
            return came
        return [*came[:3], max([kept(came[2], x, weights, segments), *layers.alive]), len(layers.alive)]

    return step


def what_went_wrong(case, outcome):
    """The first call that failed or is wrong, without its many numbers, and what its gradients say of the way back."""
    if outcome.failure is not None:
        if outcome.failure.kind not in ("exception", "timeout"):
            return None
        return outcome.failure.text + _in_words(outcome.failure.text)
    for (x, weights, segments), right, came in zip(case.inputs, case.expected, outcome.values, strict=True):
        wrong = difference(right, came)
        if difference(right[:3], list(came[:3])):
            wrong = _why(x, weights, segments, came) or wrong
        if wrong:
            return _named(weights, segments, wrong)
    return None


def _named(weights, segments, text):
    return f"recomputed_step with {len(weights)} layers in {segments} segments {text}"


def _why(x, weights, segments, came):
    output, of_x, of_weights = _gradients(x, weights)
    if len(came) != 5:
        return "must return what measured(network, x, weights) gives: five values"
    if difference(output, came[0]):
        return "gives another output: the segments must follow each other, each layer once"
    missing = [number for number, each in enumerate(came[2]) if each is None]
    if missing:
        return (
            f"leaves weight {missing[0]} without a gradient: backward() must send the gradient to the weights, too, as "
            "torch.autograd.backward(y, gradient) does, and to those of its own segment: a function made in a loop "
            "keeps them by functools.partial(through, weights=...)"
        )
    if came[1] is None:
        return "leaves x without a gradient: backward() returns one for each argument of forward() that can have one"
    if not difference([of_x, *of_weights], [came[1], *(each / 2 for each in came[2])]):
        return "gives the weights twice their gradients: either .grad adds them up, or backward() returns them"
    if not difference(_from_ones(x, weights, segments)[1:], came[1:3]):
        return "begins each segment's way back with ones: it begins with the gradient that backward() is given"
    return None


def _in_words(text):
    if "max() arg is an empty sequence" in text:
        return ". No layer was counted: `through` runs them, here and when the gradient comes"
    if "does not require grad" not in text:
        return ""
    return (
        ". Inside forward() and backward() autograd is off. To recompute with a graph: detach the input, let it "
        "require gradients, and run the segment under torch.enable_grad()"
    )


MISTAKES = r"""
... That is what autograd keeps
    measured(network, x, weights) -> measured(through, x, weights)
or
    measured(network, x, weights) -> [*measured(through, x, weights)[:3], 1, 2 * len(weights)]
or
    answer through_beside_it
... keep nothing of a segment but its input
    -(-len(weights) // segments) -> len(weights)
or
    -(-len(weights) // segments) -> len(weights) // segments
... Inside forward() and backward() autograd is off
    with torch.enable_grad(): -> if True:
... begins each segment's way back with ones
    backward(y, gradient) -> backward(y, torch.ones_like(y))
... twice their gradients
    torch.autograd.backward(y, gradient) -> for again in (True, False):\n                torch.autograd.backward(y, gradient, retain_graph=again)
    x.grad\n -> x.grad / 2\n
... Store the whole segment in one go
    y = ctx.segment(x) -> ctx.segment(x)\n                y = ctx.segment(x)
... torch.utils.checkpoint is what you write here
    from functools import partial -> from functools import partial\n\nfrom torch.utils.checkpoint import checkpoint
    Recomputed.apply(partial(through, weights=weights[start : start + size]), x) -> checkpoint(partial(through, weights=weights[start : start + size]), x, use_reentrant=False)
... backward() must send the gradient to the weights
    torch.autograd.backward(y, gradient) -> (x.grad,) = torch.autograd.grad(y, x, gradient)
"""

EXERCISE = function_exercise(
    __name__,
    cases=networks,
    mistakes=MISTAKES,
    before=(what_went_wrong,),
    stand_ins=counting(judged_layers, "recomputed_step"),
    hints="""
class Recomputed(torch.autograd.Function) has a forward(ctx, segment, x) and a backward(ctx, gradient). What must be kept from one to the other? Not more than the function and its input.
backward(): take x from ctx, x = x.detach().requires_grad_(), run the segment under torch.enable_grad(), and torch.autograd.backward(y, gradient). Then x.grad is what to return, after a None for the function.
network(x, weights): for each segment, x = Recomputed.apply(function of this segment, x). A function made in a loop must keep its own weights: functools.partial(through, weights=weights[start:stop]) does.
""",
)
