"""The channels of scalars by the names that scripts give them."""

from __future__ import annotations

import pytest


def test_names_that_clash_are_refused_once(begin, capfd):
    run = begin()
    for step in range(2):
        run.log({"a/b": 1, "a": {"b": 2}, "step": 5, "loss": 1.0, "train_loss": 2.0}, step=step)
    folder = run.read()
    assert folder.scalar("a/b") == [(0, 1), (1, 1)]
    assert folder.scalar("scalar/step") == [(0, 5), (1, 5)]
    assert folder.scalar("loss/train") == [(0, 1.0), (1, 1.0)]
    assert folder.scalar("train_loss") == [(0, 2.0), (1, 2.0)]
    assert capfd.readouterr().err.count("given twice") == 1


def test_a_clash_names_both_names(begin, capfd):
    run = begin()
    run.log({"loss": 1.0, "loss/train": 2.0})
    assert run.read().scalar("loss/train") == [(0, 1.0)]
    said = capfd.readouterr().err
    assert "`loss` and `loss/train` are both written as `loss/train`: `loss/train` is left out" in said


def test_what_is_no_dict_is_said_and_makes_no_step(begin, capfd):
    run = begin()
    run.log("loss")
    run.log(0.5)
    run.log({"loss": 1.0})
    assert run.read().scalar("loss/train") == [(0, 1.0)]
    said = capfd.readouterr().err
    assert "log takes a dict of numbers, as {'loss': loss}, and not a str" in said and "Attribute" not in said


@pytest.mark.parametrize(
    ("name", "channel"),
    [
        ("Loss/train", "loss/train"),
        ("Train/Loss", "loss/train"),
        ("Loss/test", "loss/held_out"),
        ("Loss/val", "loss/held_out"),
        ("test_loss", "loss/held_out"),
        ("validation_loss", "loss/held_out"),
        ("LR", "train/lr"),
        ("Accuracy/test", "Accuracy/test"),
        ("loss/test/words", "loss/test/words"),
    ],
)
def test_names_of_other_tools_get_the_channels_of_the_views(begin, name, channel):
    run = begin()
    run.log({name: 1.0})
    assert run.read().scalar(channel) == [(0, 1.0)]


def test_a_column_is_never_a_scalar(begin):
    run = begin()
    run.log({"scalar/step": 1, "step": 5, "scalar/variant": 1, "variant": 9, "scalar/wall_secs": 2, "wall_secs": 3})
    (line,) = run.read().metrics
    assert (line["step"], line["variant"], line["scalar/step"]) == (0, "model", 1)
    assert line["scalar/wall_secs"] == 2 and line["wall_secs"] != 3


def test_a_list_of_one_number_is_that_number(begin, capfd):
    run = begin()
    run.log({"lr": [0.5], "one": (2,), "many": [1, 2], "nested": [[1]], "words": ["a"]})
    folder = run.read()
    assert folder.scalar("train/lr") == [(0, 0.5)] and folder.scalar("one") == [(0, 2)]
    assert not {"many", "nested", "words"} & set(folder.metrics[0])
    said = capfd.readouterr().err
    assert said.count("is an array") == 2 and "`words` is not a number" in said
