"""`bench/run` measures every figure and says so in a file that programs can read. Not how fast.

The programs are those beside FALCON_BINARY; without it the newest of build/release and build/test.
"""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def find_build():
    if "FALCON_BINARY" in os.environ:
        return pathlib.Path(os.environ["FALCON_BINARY"]).resolve().parent
    built = [ROOT / "build" / preset for preset in ("release", "test")]
    built = [folder for folder in built if (folder / "falcon").exists()]
    if not built:
        pytest.fail("no falcon program: build it first (make build)")
    return max(built, key=lambda folder: (folder / "falcon").stat().st_mtime)


@pytest.fixture(scope="module")
def bench():
    """bench/run as a module."""
    loader = importlib.machinery.SourceFileLoader("bench_run", str(ROOT / "bench" / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_run", loader))
    write_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = write_bytecode
    return module


def run(results, *arguments, build=None):
    return subprocess.run([ROOT / "bench" / "run", "--quick", "--build", build or find_build(), "--results", results,
                           *arguments], capture_output=True, text=True, timeout=240)


def test_every_figure_is_there_in_the_promised_form(bench, tmp_path):
    ran = run(tmp_path / "out" / "results.json")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert set(results) == set(bench.FIGURES)
    for name, figure in results.items():
        assert set(figure) == {"value", "unit", "better"}, name
        assert isinstance(figure["value"], (int, float)) and figure["value"] >= 0, name
        assert figure["better"] in ("higher", "lower") and figure["unit"], name
        assert f"\n{name} " in ran.stdout, "people read it, too"
    assert "0 failures" in ran.stdout


def test_a_figure_that_cannot_be_taken_is_told_and_fails(tmp_path):
    ran = run(tmp_path / "results.json", "--only", "core", build=tmp_path)
    assert ran.returncode == 1
    assert f"FAILED core: {tmp_path}/falcon-core-bench is not built" in ran.stdout
    assert json.loads((tmp_path / "results.json").read_text()) == {}


def test_a_program_that_leaves_a_figure_out_fails(bench, tmp_path, monkeypatch):
    one = {"value": 1.0, "unit": "x", "better": "higher"}
    complete = dict.fromkeys(bench.FIGURES, one)
    plan = bench.Plan(tmp_path, quick=True)
    monkeypatch.setattr(bench, "BENCHES", {"all": (lambda plan: complete, True)})
    assert bench.measure(plan, ["all"])[2] == []
    without = {name: figure for name, figure in complete.items() if name != "sim_lives_per_s"}
    monkeypatch.setattr(bench, "BENCHES", {"all": (lambda plan: without, True)})
    assert bench.measure(plan, ["all"])[2] == ["sim_lives_per_s was not measured"]


def test_nothing_a_second_is_no_measurement(bench, tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "BENCHES", {
        "some": (lambda plan: {"x_per_s": {"value": 0.0, "unit": "x/s", "better": "higher"}}, True), "other": None})
    assert bench.measure(bench.Plan(tmp_path, quick=True), ["some"])[2] == ["x_per_s is 0.0, which is no measurement"]


def test_the_median_of_the_runs_counts(bench):
    runs = [{"x": {"value": value, "unit": "ms", "better": "lower"}} for value in (3.0, 50.0, 2.0)]
    figures, values = bench.median_of(runs)
    assert figures == {"x": {"value": 3.0, "unit": "ms", "better": "lower"}}
    assert values == {"x": [3.0, 50.0, 2.0]}


def test_only_whole_lines_are_figures(bench):
    text = "figure a 1.5 ms lower\n# b: figure b\nfigure c 1 ms best\n  figure d 2 x/s higher\n"
    assert bench.figures_in(text) == {"a": {"value": 1.5, "unit": "ms", "better": "lower"},
                                      "d": {"value": 2.0, "unit": "x/s", "better": "higher"}}
