"""The walk to a cluster: its commands have options that are there, its manifest holds together, its words are said."""

import re
from pathlib import Path

import yaml

from course_lib.cli.cluster import check

ROOT = Path(__file__).parents[2]
WALK = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")


def test_every_option_of_check_in_a_command_is_there() -> None:
    known = {option for parameter in check.params for option in parameter.opts}
    used = re.findall(r"course_lib check([^`\n&]*)", WALK)
    assert len(used) > 5
    assert {option for each in used for option in re.findall(r"--[\w-]+", each)} <= known


def test_the_manifest_names_one_job_one_service_and_one_number_of_pods() -> None:
    [text] = re.findall(r"```yaml\n(.*?)```", WALK, re.DOTALL)
    service, job = yaml.safe_load_all(text)
    pods = job["spec"]["template"]["spec"]
    [container] = pods["containers"]
    assert service["spec"]["selector"] == {"job-name": job["metadata"]["name"]}
    assert pods["subdomain"] == service["metadata"]["name"]
    assert f"--master-addr {job['metadata']['name']}-0.{pods['subdomain']} " in container["args"][0]
    assert f"--nnodes {job['spec']['completions']} " in container["args"][0]
    assert job["spec"]["completions"] == job["spec"]["parallelism"]
    assert [each["name"] for each in container["volumeMounts"]] == [each["name"] for each in pods["volumes"]]


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", WALK)
    assert links
    assert all((ROOT / "docs" / link).exists() for link in links)
