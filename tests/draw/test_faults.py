"""The picture of processes that die and come back says who died how often."""

from types import SimpleNamespace

from course_lib.draw import alt_text, draw_faults
from course_lib.parameter_server.experiments.fault_records import Event


def test_the_picture_counts_deaths_and_portions_of_each_process():
    happened = [
        ("server 0", "back"),
        ("worker 0", "back"),
        ("worker 0", "done"),
        ("server 0", "kill"),
        ("server 0", "back"),
    ]
    events = [Event(0.1 * number, who, what) for number, (who, what) in enumerate(happened, 1)]
    report = SimpleNamespace(events=events, seconds=1.0, kills=1, lost=0, origin="measured")
    text = alt_text(draw_faults(report))
    assert "server 0 killed 1 times, 0 portions done" in text
    assert "worker 0 killed 0 times, 1 portions done" in text
    assert text.endswith("(measured)")
