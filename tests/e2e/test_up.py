"""`falcon up --sim`: one process for everything. Starts, refused starts, crashes, and starts again."""

import json
import os
import socket
import sqlite3
import subprocess

import pytest

from local_falcon import Process, wait_until

ROOT_FLAG = ["--allow-root"] if os.geteuid() == 0 else []


class Up:
    def __init__(self, binary, data, logs, *flags):
        self.binary, self.data = str(binary), data
        logs.mkdir(exist_ok=True)
        (data / "api.json").unlink(missing_ok=True)
        self.process = Process("up", [self.binary, "up", "--data", data, "--sim", "--speed", "60",
                                      *ROOT_FLAG, *flags], logs)

        def ready():
            self.process.check_alive()
            return (data / "api.json").exists() or None
        wait_until(ready, 30, "falcon up is ready")

    def run(self, *arguments, check=True, input=None):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("FALCON_")}
        environment.update(FALCON_DATA=str(self.data), FALCON_LANGUAGE="en", FALCON_ACTOR="ann")
        result = subprocess.run([self.binary, *map(str, arguments)], capture_output=True, text=True,
                                input=input, timeout=60, env=environment)
        assert not check or result.returncode == 0, result.stderr
        return result

    def clusters(self):
        return [row["name"] for row in json.loads(self.run("get", "clusters", "-o", "json").stdout)["items"]]


@pytest.fixture
def up(binary, tmp_path):
    started = []

    def start(*flags):
        started.append(Up(binary, tmp_path / "data", tmp_path / "logs", *flags))
        return started[-1]
    yield start
    for each in started:
        each.process.stop()


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_a_crash_ends_cloud_and_programs_and_the_next_start_needs_no_patience(up, tmp_path):
    first = up()
    note = tmp_path / "pids"
    first.run("submit", "--name", "endless", "--image", "i", "--tpu-type", "v6e", "--topology", "1x1",
              "--supply-mode", "on-demand", "--", "sh", "-c",
              f"sleep 1000 & echo $$ $! > {note}.new; mv {note}.new {note}; wait")
    pids = wait_until(lambda: note.exists() and note.read_text().split(), 60, "the program runs")
    assert all(map(is_alive, pids))
    first.process.kill()
    second = up()  # at once
    wait_until(lambda: not any(map(is_alive, pids)), 10, "the programs have ended with their cloud")
    assert second.clusters() == ["tpu-east", "tpu-west"]


def test_programs_end_with_a_cloud_that_is_killed(falcon, examples, tmp_path):
    note = tmp_path / "pids"
    falcon.run("submit", "--name", "endless", "--actor", "ann", "--image", "i", "--tpu-type", "v6e",
               "--topology", "1x1", "--supply-mode", "on-demand", "--", "sh", "-c",
               f"sleep 1000 & echo $$ $! > {note}.new; mv {note}.new {note}; wait")
    pids = wait_until(lambda: note.exists() and note.read_text().split(), 60, "the program runs")
    falcon.cloud.kill()
    wait_until(lambda: not any(map(is_alive, pids)), 10, "the programs have ended with their cloud")


def test_what_the_operator_removes_stays_removed(up):
    first = up()
    first.run("cluster", "remove", "tpu-west")
    first.process.stop()
    assert up().clusters() == ["tpu-east"]


def refuse(binary, *arguments):
    result = subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True, timeout=30)
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert result.returncode != 0 and len(lines) == 1, result.stderr
    return lines[0]


def test_a_refused_start_leaves_nothing_behind(binary, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for command in (["apiserver"], ["up"], ["up", "--sim", *ROOT_FLAG], ["sim", *ROOT_FLAG]):
            line = refuse(binary, *command, "--data", tmp_path / "new", "--port", port)
            assert port in line and "in use" in line
            assert list(tmp_path.iterdir()) == []
    if ROOT_FLAG:
        assert "--allow-root" in refuse(binary, "up", "--sim", "--data", tmp_path / "new")
        assert list(tmp_path.iterdir()) == []


def test_a_newer_database_is_refused_before_anything_starts(binary, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    with sqlite3.connect(data / "falcon.db") as database:
        database.execute("CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL)")
        database.execute("INSERT INTO schema_version VALUES (4711, 0)")
    database.close()
    before = (data / "falcon.db").read_bytes()
    line = refuse(binary, "up", "--sim", *ROOT_FLAG, "--data", data)
    assert "4711" in line
    assert {path.name for path in data.iterdir()} <= {"falcon.db", "lock"}
    assert (data / "falcon.db").read_bytes() == before


def test_the_log_is_a_json_object_a_line(up):
    running = up()
    running.run("submit", "--name", "short", "--image", "i", "--tpu-type", "v6e", "--topology", "1x1",
                "--supply-mode", "on-demand", "--", "true")
    running.run("wait", "short")
    running.process.stop()
    lines = [line for line in running.process.log.read_text().splitlines() if line.startswith("{")]
    entries = [json.loads(line) for line in lines]
    assert entries and all(entry.keys() >= {"time", "severity", "message"} for entry in entries)
    assert any("job" in entry and "Succeeded" in entry["message"] for entry in entries)
    assert not any("/v1/terms/" in entry.get("target", "") and entry["method"] == "PUT" for entry in entries)
    others = [line for line in running.process.log.read_text().splitlines() if not line.startswith("{")]
    assert not any("[info]" in line or "[warning]" in line for line in others), others


def test_a_cluster_that_names_nothing_says_so_and_so_do_its_jobs(up):
    running = up()
    running.run("cluster", "remove", "tpu-east")
    running.run("cluster", "add", "--name", "nowhere", "--project", "local", "--location", "us-east5",
                "--zone", "us-east5-a", "--tpu-type", "v6e", "--bucket", "nowhere-bucket")

    def condition():
        row = json.loads(running.run("get", "clusters", "nowhere", "-o", "json").stdout)
        return row["condition"]
    assert wait_until(condition, 30, "the controller has looked")["health"] == "not-found"
    table = running.run("get", "clusters").stdout
    assert "not-found" in table and "LOCATION" in table
    row = json.loads(running.run("get", "clusters", "nowhere", "-o", "json").stdout)
    assert row["status"] == "active"  # the operator's, untouched
    assert "Google knows no such cluster" in running.run("describe", "cluster", "nowhere").stdout
    running.run("submit", "--name", "waits", "--image", "i", "--tpu-type", "v6e", "--topology", "1x1",
                "--supply-mode", "on-demand", "--", "true")

    def told():
        return "Cluster nowhere is not available (not-found" in running.run("describe", "job", "waits").stdout
    wait_until(told, 30, "the job says why it waits")
    # A cluster that is there takes it over.
    running.run("cluster", "add", "--name", "tpu-east", "--project", "local", "--location", "us-east5",
                "--zone", "us-east5-a", "--tpu-type", "v6e", "--bucket", "tpu-east-bucket")
    assert "Succeeded" in running.run("wait", "waits").stderr
