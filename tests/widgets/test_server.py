"""The server explorer: what it shows is what the training on simulated ranks leaves behind."""

import base64
import re

import pytest

from course_lib.draw import alt_text, draw_losses, draw_staleness
from course_lib.parameter_server import asynchronous, stale_synchronous
from course_lib.parameter_server.experiments import Speeds, train, train_to_loss
from course_lib.widgets import ServerExplorer
from course_lib.widgets.server import GOAL, POLICIES, ServerSetting, history_at, policy_of

from .parts import facts_of, part, shown

STALLING = "all stall at times"


@pytest.fixture
def explorer():
    return ServerExplorer(workers=4)


def setting_of(explorer):
    return ServerSetting(**explorer.values)


def test_its_history_is_that_of_the_page():
    setting = ServerSetting("stale-synchronous", STALLING, 1.0, 8, 1, 2, 8)
    speeds = Speeds(gradient_s=0.1, spread=0.1, stall_share=0.05, stall_s=1.0)
    expected = train_to_loss(stale_synchronous(8), workers=8, speeds=speeds, rate=1.0, seed=0)
    assert history_at(setting).loss == expected.loss
    assert history_at(setting).time_s == expected.time_s


@pytest.mark.parametrize("policy", POLICIES)
def test_its_numbers_are_those_of_the_run(policy):
    explorer = ServerExplorer(policy=policy, workers=5, machines="healthy", rate=2)
    history = train_to_loss(policy_of(setting_of(explorer)), workers=5, speeds=Speeds(0.1, 0.1), rate=2.0)
    facts = facts_of(explorer)
    assert facts["loss below 0.2 after"] == f"{history.seconds_to(GOAL):.1f} s"
    assert facts["mean staleness"] == f"{sum(history.staleness) / len(history.staleness):.3g}"
    assert (facts["oldest"], facts["thrown away"]) == (str(max(history.staleness)), str(len(history.dropped)))
    assert f"{history.loss[-1]:.3g} after {history.time_s[-1]:.1f} s" in shown(explorer, "Loss")
    assert f"mean {facts['mean staleness']}" in shown(explorer, "How old")


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("workers", [2, 5])
def test_every_policy_trains(policy, workers):
    explorer = ServerExplorer(policy=policy, workers=workers, rate=1, machines="healthy")
    history = history_at(setting_of(explorer))
    assert history.loss[-1] < history.loss[0]
    assert explorer.problem is None


def test_who_is_not_there_in_time_is_said_so():
    explorer = ServerExplorer(policy="synchronous", rate=0.5)
    assert facts_of(explorer)["loss below 0.2 after"] == "not in 13 s"
    assert explorer.caption.startswith("The loss is not below 0.2 within 13 seconds.")


def test_only_what_the_policy_uses_can_be_moved(explorer):
    used = {"with backup workers": "backup", "n-softsync": "n", "stale-synchronous": "slack"}
    for policy in POLICIES:
        explorer.set(policy=policy)
        free = [name for name in ("backup", "n", "slack") if not explorer.controls[name].disabled]
        assert free == [name for owner, name in used.items() if owner == policy]


def test_no_more_gradients_or_backups_than_there_are_workers(explorer):
    explorer.set(policy="n-softsync", n=4, workers=2)
    assert (explorer.controls["n"].max, explorer.values["n"]) == (2, 2)
    assert explorer.controls["backup"].max == 1


def test_a_straggler_computes_fewer_gradients():
    history = history_at(setting_of(ServerExplorer(workers=4, machines="worker 0 is 10× slower", rate=1)))
    of_rank = [sum(span.rank == rank for span in history.trace.spans) for rank in range(1, 5)]
    assert of_rank[0] * 8 < min(of_rank[1:])


def test_reset_leads_back(explorer):
    before = explorer.values
    explorer.set(workers=2, policy="n-softsync", n=1, rate=4.0, machines="healthy")
    explorer.reset.click()
    assert explorer.values == before


def test_backup_workers_throw_gradients_away(explorer):
    explorer.set(policy="with backup workers")
    assert re.search(r"\d+ gradients are thrown away", explorer.caption)
    assert policy_of(setting_of(explorer)).gradients_per_update == 3


@pytest.mark.parametrize("panel", ["", "The beginning", "How old", "Loss"])
def test_another_policy_changes_every_picture(explorer, panel):
    before = shown(explorer, panel)
    explorer.set(policy="synchronous")
    assert shown(explorer, panel) != before


def test_numbers_and_pictures_name_their_origin(explorer):
    assert all("simulated</small>" in view.value for view in explorer.views)


def test_every_picture_says_in_words_what_it_shows(explorer):
    for panel in ("The beginning", "How old", "Loss"):
        (label,) = re.findall(r'role="img" aria-label="([^"]+)"', shown(explorer, panel))
        assert re.search(r"\d", label)


def test_a_loss_that_has_no_bound_is_still_drawn():
    explorer = ServerExplorer(rate=16.0, workers=8)
    panel = part(explorer, "Loss")
    assert max(panel.lines["asynchronous"].y) > panel.y.high == 100
    assert "▲" in shown(explorer, "Loss")  # where the line leaves the axes, and nothing drawn at 100


def test_a_control_that_rests_says_why(explorer):
    explorer.set(policy="synchronous")
    assert explorer.controls["slack"].tooltip == "only with the policy stale-synchronous"
    explorer.set(policy="stale-synchronous")
    assert explorer.controls["slack"].tooltip is None


def test_without_a_kernel_the_page_keeps_a_picture_and_the_settings(explorer):
    (bundle, metadata), *_ = explorer.bundles()
    assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert "policy=asynchronous" in bundle["text/plain"]
    assert "updates old on average" in metadata["image/png"]["alt"]


def test_drawn_histories_say_how_they_end():
    histories = {"asynchronous": train(asynchronous(), workers=2, updates=8)}
    assert re.search(r"asynchronous ends at [\d.]+ after", alt_text(draw_losses(histories)))
    assert "8 updates" in alt_text(draw_losses(histories, x="updates"))
    assert "asynchronous mean" in alt_text(draw_staleness(histories))
    with pytest.raises(ValueError, match="got 'days'"):
        draw_losses(histories, x="days")
