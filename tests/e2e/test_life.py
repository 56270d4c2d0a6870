"""Whole lives of jobs: good ends, bad ends, and what people see meanwhile."""

import json
import time

import pytest

from local_falcon import wait_until

TERMINAL = ("Succeeded", "Failed", "Aborted")


def check_terminal(row):
    assert row["status"] in TERMINAL
    assert row["finished_at"] is not None
    assert (row["reason"] != "") == (row["status"] == "Failed")


def test_a_job_runs_prints_and_leaves_nothing(falcon, examples):
    job = falcon.submit(examples / "matrix-benchmark.yaml", SECONDS='"3"')
    row = falcon.wait_for(job, 90, *TERMINAL)
    assert row["status"] == "Succeeded", row["message"]
    check_terminal(row)
    assert row["message"] == ""
    assert row["exit_code"] == 0
    log = falcon.run("logs", job).stdout
    assert "multiplying 96x96" in log and "done:" in log
    assert list(falcon.bucket_logs(row).values()) == [log]
    events = falcon.run("events", job).stdout
    for state in ("Pending/Waiting", "Pending/Provisioning", "Pending/Dispatching", "Running", "Succeeded"):
        assert state in events
    falcon.wait_until_empty(60)
    wait_until(lambda: falcon.job(job)["cleanup"] == "done", 30, "the clean-up is told")
    result = falcon.cloud_data / "buckets" / f"{row['cluster_name']}-bucket" / "results" / "matrix-benchmark"
    assert len(list(result.iterdir())) == 1


def test_four_hosts_print_their_index(falcon, examples):
    job = falcon.submit(examples / "four-hosts.yaml")
    row = falcon.wait_for(job, 90, *TERMINAL)
    assert row["status"] == "Succeeded", row["message"]
    log = falcon.run("logs", job).stdout
    for index in range(4):
        assert f"host {index} of 4: done" in log
        assert len(falcon.run("logs", job, "--pod", index).stdout.splitlines()) == 6
    falcon.wait_until_empty(60)


def test_an_exit_code_reaches_the_message(falcon, examples):
    job = falcon.submit(examples / "exit-code.yaml")
    waited = falcon.run("wait", job, check=False)
    assert waited.returncode == 3
    row = falcon.job(job)
    check_terminal(row)
    assert (row["status"], row["reason"], row["exit_code"]) == ("Failed", "JobFailed", 3)
    assert row["message"] == "Pod terminated: Error (exit code 3)"
    assert "shard 7 of 16 is missing" in falcon.run("logs", job).stdout
    assert "falcon logs exit-code" in falcon.run("describe", "job", job).stdout
    falcon.wait_until_empty(60)


def test_out_of_memory_is_named(falcon, examples):
    job = falcon.submit(examples / "out-of-memory.yaml")
    row = falcon.wait_for(job, 120, *TERMINAL)
    assert (row["status"], row["reason"], row["exit_code"]) == ("Failed", "JobFailed", 137)
    assert row["message"] == "Pod terminated: OOMKilled (exit code 137)"
    falcon.wait_until_empty(60)


def test_a_failed_job_runs_again_as_often_as_asked(falcon, examples):
    job = falcon.submit(examples / "exit-code.yaml", timeout_seconds="600\n  max_retries: 1")
    row = falcon.wait_for(job, 120, *TERMINAL)
    check_terminal(row)
    assert (row["status"], row["reason"], row["exit_code"]) == ("Failed", "JobFailed", 3)
    assert (row["attempt"], row["retries"], row["disruptions"]) == (2, 1, 0)
    assert len(falcon.bucket_logs(row)) == 2
    events = falcon.run("events", job).stdout
    assert "第 1 次运行失败: Error (exit code 3),将重新运行 (重试 1/1)" in events
    assert "2 (1 after a failure, 0 after lost machines)" in falcon.run("describe", "job", job).stdout
    falcon.wait_until_empty(60)


def test_a_lost_machine_is_not_the_jobs_failure(falcon, examples):
    job = falcon.submit(examples / "endless.yaml")
    row = falcon.wait_for(job, 90, "Running")
    pool = row["node_pool_name"]
    nodes = wait_until(lambda: [word for word in falcon.run("sim", "status").stdout.split()
                                if word.startswith("gke-") and pool[:16] in word], 20, "its node")
    falcon.run("sim", "fault", f"node-lost={nodes[0]}")
    row = wait_until(lambda: (lambda now: now if now["attempt"] == 2 and now["status"] == "Running" else None)(
        falcon.job(job)), 120, "it runs again")
    assert (row["disruptions"], row["retries"]) == (1, 0)
    assert row["node_pool_name"] != pool
    falcon.run("abort", job)
    falcon.wait_for(job, 60, "Aborted")
    falcon.wait_until_empty(60)


def test_a_running_log_is_readable_within_15_seconds(falcon, examples):
    """In the bucket's folder and through `falcon logs -f`, from the moment the line is printed."""
    script = "import time; print('stamp', time.time(), flush=True); time.sleep(25)"
    job = falcon.run("submit", "-o", "name", "--name", "stamp", "--image", "i", "--tpu-type", "v6e",
                     "--topology", "1x1", "--supply-mode", "on-demand", "--",
                     "python3", "-c", script).stdout.strip()
    row = falcon.wait_for(job, 90, "Running", *TERMINAL)

    def stamped():
        for text in falcon.bucket_logs(row).values():
            for line in text.splitlines():
                if line.startswith("stamp "):
                    return line
        return None

    line = wait_until(stamped, 20, "the line is in the bucket")
    assert time.time() - float(line.split()[1]) < 15
    assert falcon.job(job)["status"] == "Running"
    assert line in falcon.run("logs", job).stdout
    followed = falcon.run("logs", "-f", job)
    assert line in followed.stdout
    assert "Succeeded" in followed.stderr


def test_abort_while_it_runs(falcon, examples):
    job = falcon.submit(examples / "endless.yaml")
    falcon.wait_for(job, 90, "Running")
    wait_until(lambda: "step 1" in falcon.run("logs", job, check=False).stdout, 20, "it has printed")
    assert falcon.run("abort", job).stdout.startswith("job endless is Aborting")
    assert falcon.run("wait", job, "--timeout", "60s", check=False).returncode == 4
    row = falcon.job(job)
    check_terminal(row)
    assert row["status"] == "Aborted"
    assert row["message"] == "用户中止"
    assert row["aborted_at"] is not None
    assert "SIGTERM: the checkpoint is saved" in falcon.run("logs", job).stdout
    falcon.wait_until_empty(60)
    refused = falcon.run("abort", job, check=False)
    assert refused.returncode == 1 and "Aborted" in refused.stderr


@pytest.mark.slow
@pytest.mark.parametrize("reason", ["Provisioning", "WaitingForNode", "Dispatching"])
def test_abort_before_it_runs(falcon, examples, reason):
    job = falcon.submit(examples / "endless.yaml")
    if reason == "Provisioning":
        falcon.wait_for_reason(job, 60, "Provisioning", "WaitingForNode", "Dispatching")
    else:
        wait_until(lambda: falcon.job(job)["reason"] in ("WaitingForNode", "Dispatching")
                   or falcon.job(job)["status"] == "Running", 60, reason)
    falcon.run("abort", job)
    row = falcon.wait_for(job, 90, *TERMINAL)
    assert row["status"] == "Aborted"
    falcon.wait_until_empty(90)


@pytest.mark.slow
def test_the_time_limit_ends_it(falcon, examples):
    job = falcon.submit(examples / "endless.yaml", timeout_seconds=4)
    row = falcon.wait_for(job, 90, *TERMINAL)
    assert (row["status"], row["reason"]) == ("Failed", "Timeout")
    assert row["message"] == "任务超时 (4s),已取消 Job"
    falcon.wait_until_empty(60)


@pytest.mark.slow
def test_one_queue_serves_actors_in_turn(falcon, examples):
    falcon.run("cluster", "set", falcon.clusters[1][0], "--status", "maintenance")
    jobs = [falcon.submit(examples / "matrix-benchmark.yaml", SECONDS='"1"', name=f"{actor}-{number}", actor=actor)
            for actor in ("ann", "bob") for number in (1, 2)]
    rows = [falcon.wait_for(job, 180, *TERMINAL) for job in jobs]
    assert [row["status"] for row in rows] == ["Succeeded"] * 4
    order = [row["name"] for row in sorted(rows, key=lambda row: row["started_at"])]
    assert order[:2] in (["ann-1", "bob-1"], ["bob-1", "ann-1"]), order
    assert {row["cluster_name"] for row in rows} == {falcon.clusters[0][0]}
    falcon.wait_until_empty(60)


@pytest.mark.slow
def test_arguments_arrive_byte_for_byte(falcon):
    wild = ["it's", 'a "b" c', "$HOME", "`id`", "*", "", "-n", "line\nline", "a\tb", "日本語", "\\",
            ";echo x", "#c", "&&", "$(HOME)", "$$(HOME)"]
    script = "import json, sys; print(json.dumps(sys.argv[1:]))"
    job = falcon.run("submit", "-o", "name", "--name", "args", "--image", "i", "--tpu-type", "v6e",
                     "--topology", "1x1", "--supply-mode", "on-demand", "--",
                     "python3", "-c", script, *wild).stdout.strip()
    row = falcon.wait_for(job, 90, *TERMINAL)
    assert row["status"] == "Succeeded", row["message"]
    assert json.loads(falcon.run("logs", job).stdout) == wild
