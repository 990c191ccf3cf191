"""The check inside the notebook: an answer is tried in the student's own process. It decides no points."""
