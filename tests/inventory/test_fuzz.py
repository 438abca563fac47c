"""Broken files are refused or read without losing a machine; never a traceback."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inventory.examples import EXAMPLES, Example
from tests.inventory.fuzzing import breakages, check

KINDS = {f"{example.kind}-{i}": example for i, example in enumerate(EXAMPLES)}


@pytest.mark.parametrize("example", KINDS.values(), ids=KINDS)
def test_the_unbroken_file_is_read(example: Example):
    assert check(example, example.text)


@pytest.mark.parametrize("example", KINDS.values(), ids=KINDS)
@settings(deadline=None, max_examples=100, derandomize=True)
@given(rng=st.randoms(use_true_random=False))
def test_no_machine_is_lost_in_silence(example: Example, rng: random.Random):
    check(example, breakages(rng, example.text))


@pytest.mark.parametrize("kind", sorted({example.kind for example in EXAMPLES}))
@settings(deadline=None, max_examples=30, derandomize=True)
@given(text=st.text(max_size=200))
def test_any_text_is_read_or_refused(kind: str, text: str):
    check(Example(kind, "", 8), text)
