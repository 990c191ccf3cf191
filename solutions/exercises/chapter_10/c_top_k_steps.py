"""Exercise 10c: top-k with error feedback, step by step."""

from course_lib.grading.exercises.chapter_10.shared import ties
from course_lib.grading.exercises.common import function_exercise


def trainings(rng):
    """Gradients of several steps, whole numbers; of what is wanted the k largest are always clear."""
    yield from [([[5, -4, 1], [1, -3, 2], [0, 0, 0]], 1), ([[7, -2, 5, -9]], 2), ([[3, -1], [-2, 4]], 2)]
    for length, steps, k in ((4, 3, 1), (6, 5, 2), (8, 6, 3)):
        while ties(gradients := rng.integers(-20, 21, (steps, length)).tolist(), k):
            pass
        yield gradients, k


MISTAKES = r"""
What is left out must be added to the next gradient
    [g + waiting for -> [g for
What is left out must be kept, and added to the next gradient
    [number - out for -> [0 for
The residual is the gradient *and the earlier residual*, less what was sent
    in zip(wanted, sent -> in zip(gradient, sent
The earlier residual is in what was wanted: do not add it to the new residual again
    [number - out for number, out in zip( -> [w + number - out for w, number, out in zip(residual,
What was sent no longer waits: take it off
    [number - out for number, out in zip(wanted, sent, strict=True)] -> wanted
The largest *magnitudes* travel: -9 is larger than 7
    -abs(wanted[place]) -> -wanted[place]
The largest magnitudes travel, not the smallest
    -abs(wanted[place]) -> abs(wanted[place])
Choose among the sums of gradient and residual, not among the gradients
    -abs(wanted[place]) -> -abs(gradient[place])
A row that was sent is as long as a gradient, with 0 where nothing travels
    rows.append(sent) -> rows.append([wanted[place] for place in sorted(largest)])
or
    rows.append(sent) -> rows.append([wanted[place] for place in largest])
or
    rows.append(sent) -> rows.append([wanted[place] for place in reversed(largest)])
Only the rows are here: return them and the last residual
    return [rows, residual] -> return rows
Only the residual after the last step is asked for
    rows.append(sent) -> rows.append((sent, residual))
    return [rows, residual] -> return list(zip(*rows))
Numbers are chosen by their magnitudes, and sent with their signs
    rows.append(sent) -> rows.append(list(map(abs, sent)))
What waited in a place that is chosen travels along: send the sum
    [number if place -> [gradient[place] if place
Return what was sent, then the residual after the last step
    return [rows, residual] -> return [residual, rows]
"""

EXERCISE = function_exercise(
    __name__,
    calls=trainings,
    label="gradients of one to six steps",
    mistakes=MISTAKES,
    hints="""
In each step: wanted = gradient + residual; some of it is sent; the rest is the next residual.
sorted(range(len(wanted)), key=lambda i: -abs(wanted[i]))[:k] gives the places of the k largest.
Sent: wanted[i] in these places, 0 elsewhere. Residual: wanted[i] - sent[i]. The first residual is all 0.
""",
)
