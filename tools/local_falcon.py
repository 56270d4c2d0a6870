"""A whole Falcon on this machine: local cloud, API server and controller as processes of their own.

For the demo and the end-to-end tests. Everything listens on loopback, on ports that the system
chooses; everything lives in one folder; nothing outlives stop(). Waiting is always for a condition,
with a limit, never for a time.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

CLUSTERS = [
    # name, project, location, zone, TPU type
    ("tpu-east", "demo", "us-east5", "us-east5-a", "v6e"),
    ("tpu-west", "demo", "us-west4", "us-west4-a", "v6e"),
]


class Failure(Exception):
    """Something did not come out as it must; the text says what."""


def wait_until(condition, limit_s, what):
    """The first true value of condition(); a Failure that names `what` after limit_s seconds."""
    end = time.monotonic() + limit_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failure(f"{what}: not within {limit_s} s")
        time.sleep(0.05)


class Process:
    """One process of ours; its output goes to a file in the folder of logs."""

    def __init__(self, name, arguments, logs):
        self.name = name
        self.log = logs / f"{name}.log"
        with open(self.log, "ab") as log:
            self.popen = subprocess.Popen(arguments, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    @property
    def pid(self):
        return self.popen.pid

    def check_alive(self):
        if self.popen.poll() is not None:
            tail = self.log.read_text(errors="replace")[-2000:]
            raise Failure(f"{self.name} ended with {self.popen.returncode}:\n{tail}")

    def kill(self):
        """As a crash or the kernel's out-of-memory killer would."""
        self.popen.kill()
        self.popen.wait()

    def stop(self, limit_s=20):
        """SIGTERM, and the exit code; SIGKILL and a Failure if it does not end."""
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGTERM)
        try:
            return self.popen.wait(limit_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failure(f"{self.name} did not end within {limit_s} s of SIGTERM; see {self.log}")


class LocalFalcon:
    def __init__(self, binary, folder, speed=60, clusters=CLUSTERS, sim_flags=()):
        self.binary = str(binary)
        self.folder = pathlib.Path(folder)
        self.speed = speed
        self.clusters = clusters
        self.sim_flags = list(sim_flags)
        self.cloud = self.api = self.controller = None
        shutil.rmtree(self.folder, ignore_errors=True)
        self.data = self.folder / "falcon"
        self.cloud_data = self.folder / "cloud"
        self.logs = self.folder / "process-logs"
        for folder in (self.data, self.cloud_data, self.logs):
            folder.mkdir(parents=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    # Processes

    def start(self):
        self.start_cloud()
        self.start_api()
        self.start_controller()

    def start_cloud(self):
        arguments = [self.binary, "sim", "--data", self.cloud_data, "--port", "0", "--speed", str(self.speed)]
        if os.geteuid() == 0:
            arguments.append("--allow-root")  # programs of the examples, on our own machine
        for cluster in self.clusters:
            arguments += ["--cluster", ":".join(cluster)]
        self.cloud = Process("cloud", arguments + self.sim_flags, self.logs)
        self.cloud_url = self._url_in(self.cloud, self.cloud_data / "sim.json")

    def start_api(self, port=0):
        (self.data / "api.json").unlink(missing_ok=True)
        self.api = Process("apiserver", [
            self.binary, "apiserver", "--data", self.data, "--port", str(port),
            "--storage-endpoint", self.cloud_url], self.logs)
        self.api_url = self._url_in(self.api, self.data / "api.json")

    def start_controller(self):
        self.controller = Process("controller", [
            self.binary, "controller", "--data", self.data, "--google-endpoint", self.cloud_url],
            self.logs)

    def _url_in(self, process, path):
        def url():
            process.check_alive()
            try:
                return json.loads(path.read_text())["url"]
            except (OSError, ValueError, KeyError):
                return None
        return wait_until(url, 20, f"{process.name} is ready")

    def stop(self):
        """Ends what runs, the controller first. Safe to call twice."""
        for name in ("controller", "api", "cloud"):
            process = getattr(self, name)
            setattr(self, name, None)
            if process is not None:
                process.stop()

    # Commands

    def run(self, *arguments, check=True, input=None, limit_s=120):
        """`falcon ARGUMENTS` with this installation's data folder."""
        command = [self.binary, *map(str, arguments)]
        data = self.cloud_data if arguments[0] == "sim" else self.data
        result = subprocess.run(command + ["--data", str(data)] if arguments[0] == "sim" else command,
                                capture_output=True, text=True, input=input, timeout=limit_s,
                                env=self.environment())
        if check and result.returncode != 0:
            raise Failure(f"falcon {' '.join(map(str, arguments))} ended with {result.returncode}:\n"
                          f"{result.stdout}{result.stderr}")
        return result

    def environment(self):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("FALCON_")}
        environment["FALCON_DATA"] = str(self.data)
        return environment

    def add_clusters(self):
        for name, project, location, zone, tpu_type, *reservation in self.clusters:
            self.run("cluster", "add", "--name", name, "--project", project, "--location", location,
                     "--zone", zone, "--tpu-type", tpu_type, "--bucket", f"{name}-bucket",
                     *(["--reservation", reservation[0]] if reservation else []))

    def submit(self, path, **changes):
        """Submits a job file with other values for some lines "key: value"; the new job's id."""
        lines = pathlib.Path(path).read_text().splitlines()
        for key, value in changes.items():
            found = [i for i, line in enumerate(lines) if line.strip().startswith(f"{key}:")]
            if not found:
                lines.insert(0, f"{key}: {value}")
            for i in found[:1]:
                indent = lines[i][: len(lines[i]) - len(lines[i].lstrip())]
                lines[i] = f"{indent}{key}: {value}"
        return self.run("submit", "-f", "-", "-o", "name", input="\n".join(lines)).stdout.strip()

    def job(self, id_or_name):
        return json.loads(self.run("get", "jobs", id_or_name, "-o", "json").stdout)

    def wait_for(self, job, limit_s, *statuses):
        """The job, once it has one of the statuses."""
        def reached():
            row = self.job(job)
            return row if row["status"] in statuses else None
        return wait_until(reached, limit_s, f"job {job} is {' or '.join(statuses)}")

    def wait_for_reason(self, job, limit_s, *reasons):
        def reached():
            row = self.job(job)
            if row["status"] in ("Succeeded", "Failed", "Aborted"):
                raise Failure(f"job {job} is {row['status']} and was not seen {' or '.join(reasons)}")
            return row if row["reason"] in reasons else None
        return wait_until(reached, limit_s, f"job {job} is {' or '.join(reasons)}")

    def wait_until_empty(self, limit_s):
        """Nothing of Falcon's is left in the cloud: no node pool, no Kubernetes Job."""
        def empty():
            return self.run("sim", "status", "--expect-empty", check=False).returncode == 0
        try:
            wait_until(empty, limit_s, "the cloud is empty")
        except Failure:
            raise Failure("left in the cloud:\n" + self.run("sim", "status").stdout)

    def bucket_logs(self, row):
        """Contents of the job's log files in the bucket's folder, by file name."""
        folder = self.cloud_data / "buckets" / f"{row['cluster_name']}-bucket" / "logs" / row["id"]
        if not folder.is_dir():
            return {}
        return {path.name: path.read_text(errors="replace") for path in sorted(folder.iterdir())}
