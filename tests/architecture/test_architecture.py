"""The tree keeps its promises: rules.py on this repository."""

import pathlib

import pytest

import rules

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

RULES = [rules.arrows, rules.purity, rules.heavy_headers, rules.targets, rules.namespaces, rules.sizes,
         rules.loose_ends, rules.documents, rules.packages_explained, rules.reasons_explained,
         rules.folders_described]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule(rule):
    complaints = rule(ROOT)
    if complaints:
        pytest.fail(rule.__doc__.splitlines()[0] + "\n  " + "\n  ".join(complaints), pytrace=False)
