"""Bad input: one clear line, a proper exit code, and nothing has changed."""

import json
import os
import subprocess
import urllib.error
import urllib.request

import pytest

from local_falcon import LocalFalcon


@pytest.fixture
def api(binary, tmp_path):
    """An API server alone."""
    with LocalFalcon(binary, tmp_path / "f") as local:
        local.cloud_url = "http://127.0.0.1:9"  # nobody looks at the bucket here
        local.start_api()
        yield local


def post(api, body, path="/v1/jobs", **headers):
    headers = {"Authorization": "Bearer " + (api.data / "token").read_text().strip(),
               "Content-Type": "application/json", **headers}
    request = urllib.request.Request(api.api_url + path, body, headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"{}")


GOOD = {"name": "good", "actor": "ann",
        "spec": {"image": "i", "command": ["a"], "tpu_type": "v6e", "topology": "2x2"}}


def spec(**changes):
    return {**GOOD, "spec": {**GOOD["spec"], **changes}}


@pytest.mark.parametrize("body, field", [
    (spec(tpu_type="v6x"), "spec.tpu_type"),
    (spec(topology="3x5"), "spec.topology"),
    (spec(command=[]), "spec.command"),
    (spec(timeout_seconds=0), "spec.timeout_seconds"),
    (spec(timeout_seconds=10**12), "spec.timeout_seconds"),
    (spec(timeout_seconds=3600.5), "spec.timeout_seconds"),
    (spec(timeout_seconds="3600"), "spec.timeout_seconds"),
    (spec(topolgy="2x2"), "spec.topolgy"),
    (spec(image=7), "spec.image"),
    ({**GOOD, "name": "Train_Job"}, "name"),
    ({**GOOD, "status": "Running"}, "status"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_each_mistake_names_its_field(api, body, field):
    status, problem = post(api, json.dumps(body).encode())
    assert status == 400
    assert field in [error["field"] for error in problem["errors"]], problem
    assert json.loads(api.run("get", "jobs", "-o", "json").stdout)["items"] == []


def test_unknown_fields_are_helped_with(api):
    status, problem = post(api, json.dumps(spec(topolgy="2x2")).encode())
    assert status == 400 and "topology" in json.dumps(problem)


@pytest.mark.parametrize("body, status", [
    (b'{"name": "half', 400),
    (b'', 400),
    (b'{"name":"a","name":"b"}', 400),
    (json.dumps(GOOD).encode() + b' {}', 400),
    (b'[' * 100_000, 400),
    (b'{"name": "\xff\xfe"}', 400),
    (b'{"name": "' + b'x' * (10 << 20) + b'"}', 413),
], ids=["half", "empty", "key-twice", "text-after-end", "deep", "no-utf8", "ten-megabytes"])
def test_bodies_that_are_no_job(api, body, status):
    try:
        assert post(api, body)[0] == status
    except (ConnectionError, urllib.error.URLError):
        assert status == 413  # the server may hang up in the middle of ten megabytes
    assert json.loads(api.run("get", "jobs", "-o", "json").stdout)["items"] == []


def test_a_web_page_can_not_submit(api):
    body = json.dumps(GOOD).encode()
    assert post(api, body, Authorization="")[0] == 401
    assert post(api, body, Authorization="Bearer wrong")[0] == 401
    assert post(api, body, Origin="http://evil.example")[0] == 403
    assert post(api, body, Host="evil.example")[0] == 403
    assert post(api, body, **{"Content-Type": "text/plain"})[0] == 415
    assert post(api, body)[0] == 201


def test_a_cluster_that_is_not_there_and_one_too_many(api):
    missing = api.run("describe", "cluster", "nowhere", check=False)
    assert missing.returncode == 1 and "nowhere" in missing.stderr
    api.add_clusters()
    again = api.run("cluster", "add", "--name", "tpu-east", "--project", "demo", "--location", "us-east5",
                    "--zone", "us-east5-a", "--tpu-type", "v6e", "--bucket", "tpu-east-bucket", check=False)
    assert again.returncode == 1 and "tpu-east" in again.stderr
    assert len(json.loads(api.run("get", "clusters", "-o", "json").stdout)["items"]) == 2


def start(binary, *arguments):
    return subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True, timeout=30)


def check_refusal(result, *words):
    assert result.returncode != 0
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, result.stderr
    for word in words:
        assert word in lines[0], lines[0]


def test_a_port_in_use(api, binary, tmp_path):
    port = api.api_url.rsplit(":", 1)[1]
    for command in ("apiserver", "up"):
        check_refusal(start(binary, command, "--data", tmp_path / command, "--port", port), port, "in use")


def test_a_data_folder_that_can_not_be_written(binary, tmp_path):
    (tmp_path / "file").write_text("")
    for command in ("apiserver", "up"):
        check_refusal(start(binary, command, "--data", tmp_path / "file" / "x"), "file")
    if os.geteuid() != 0:  # root writes everywhere
        (tmp_path / "closed").mkdir(mode=0o500)
        check_refusal(start(binary, "up", "--data", tmp_path / "closed" / "x"), "closed")


def test_a_controller_without_an_api_server(binary, tmp_path):
    check_refusal(start(binary, "controller", "--data", tmp_path), "falcon up")


def test_words_that_nobody_knows(binary):
    check = start(binary, "sumbit")
    assert check.returncode == 2 and 'did you mean "submit"' in check.stderr
    assert start(binary, "apiserver", "--prot", "1").returncode == 2
    assert start(binary).returncode == 2
