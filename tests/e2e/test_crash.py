"""The controller dies at any moment and nothing is lost, doubled or left over."""

import random
import time

import pytest

TERMINAL = ("Succeeded", "Failed", "Aborted")


def submit_a_mix(falcon, examples):
    return {
        falcon.submit(examples / "matrix-benchmark.yaml", SECONDS='"3"', actor="ann"): "Succeeded",
        falcon.submit(examples / "four-hosts.yaml", actor="bob"): "Succeeded",
        falcon.submit(examples / "exit-code.yaml", actor="ann"): "Failed",
        falcon.submit(examples / "endless.yaml", timeout_seconds=3, actor="carl"): "Failed",
    }


def check_ends(falcon, wanted):
    for job, status in wanted.items():
        row = falcon.wait_for(job, 150, *TERMINAL)
        assert row["status"] == status, f"{row['name']}: {row['status']} {row['reason']} {row['message']}"
        assert row["attempt"] == 1, row  # one Kubernetes Job was made, whatever happened
    falcon.wait_until_empty(90)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
def test_kill_at_random_moments(falcon, examples, seed):
    moments = random.Random(seed)
    wanted = submit_a_mix(falcon, examples)
    for _ in range(5):
        time.sleep(moments.uniform(0.1, 4))  # the moment is the test, nothing is waited for
        falcon.controller.kill()
        falcon.start_controller()
    check_ends(falcon, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("reason", ["Waiting", "Provisioning", "WaitingForNode", "Dispatching"])
def test_kill_in_each_phase(falcon, examples, reason):
    job = falcon.submit(examples / "four-hosts.yaml")
    end = time.monotonic() + 60
    while time.monotonic() < end:
        row = falcon.job(job)
        if row["reason"] == reason or row["status"] != "Pending":
            break
    falcon.controller.kill()
    falcon.start_controller()
    check_ends(falcon, {job: "Succeeded"})


def test_kill_while_it_runs_and_stay_away_until_it_has_ended(falcon, examples):
    job = falcon.submit(examples / "four-hosts.yaml")
    falcon.wait_for(job, 90, "Running")
    falcon.controller.kill()
    time.sleep(8)  # the pods end while nobody looks
    assert falcon.job(job)["status"] == "Running"
    falcon.start_controller()
    check_ends(falcon, {job: "Succeeded"})


@pytest.mark.slow
def test_kill_while_it_aborts(falcon, examples):
    job = falcon.submit(examples / "endless.yaml")
    falcon.wait_for(job, 90, "Running")
    falcon.run("abort", job)
    falcon.controller.kill()
    falcon.start_controller()
    check_ends(falcon, {job: "Aborted"})


@pytest.mark.slow
def test_the_api_server_dies_and_comes_back(falcon, examples):
    job = falcon.submit(examples / "four-hosts.yaml")
    falcon.wait_for_reason(job, 60, "Provisioning", "WaitingForNode", "Dispatching")
    port = falcon.api_url.rsplit(":", 1)[1]
    falcon.api.kill()
    falcon.start_api(port)
    check_ends(falcon, {job: "Succeeded"})
