"""The channels of scalars by the names that scripts give them."""

from __future__ import annotations

import pytest


def test_names_that_clash_are_refused_once(begin, capfd):
    run = begin()
    for step in range(2):
        run.log({"a/b": 1, "a": {"b": 2}, "step": 5}, step=step)
    folder = run.read()
    assert folder.scalar("a/b") == [(0, 1), (1, 1)]
    assert folder.scalar("scalar/step") == [(0, 5), (1, 5)]
    assert capfd.readouterr().err.count("given twice") == 1


def test_a_clash_names_both_names(begin, capfd):
    run = begin(names={"loss": "loss/train"})
    run.log({"loss": 1.0, "loss/train": 2.0})
    assert run.read().scalar("loss/train") == [(0, 1.0)]
    said = capfd.readouterr().err
    assert "`loss` and `loss/train` are both written as `loss/train`: `loss/train` is left out" in said


def test_what_is_no_dict_is_said_and_makes_no_step(begin, capfd):
    run = begin()
    run.log("loss")
    run.log(0.5)
    run.log({"loss": 1.0})
    assert run.read().scalar("loss") == [(0, 1.0)]
    said = capfd.readouterr().err
    assert "log takes a dict of numbers, as {'gate': gate}, and not a str" in said and "Attribute" not in said


@pytest.mark.parametrize("name", ["loss", "train_loss", "train/loss", "Loss/train", "val_loss", "LR", "grad_norm"])
def test_a_name_stays_as_it_is(begin, name):
    run = begin()
    run.log({name: 1.0})
    (line,) = run.read().metrics
    assert line[name] == 1.0 and not {"loss/train", "loss/held_out", "train/lr", "train/grad_norm"} & set(line)


def test_a_name_gets_the_channel_that_it_is_given(begin):
    run = begin(names={"train_loss": "loss/train", "other_loss": "loss/train", "odd": "step"})
    run.log({"train_loss": 1.0, "other_loss": 2.0, "Train_loss": 3.0, "odd": 4.0}, step=7)
    (line,) = run.read().metrics
    assert (line["loss/train"], line["other_loss"], line["Train_loss"]) == (1.0, 2.0, 3.0)
    assert (line["step"], line["scalar/step"]) == (7, 4.0)


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
    assert folder.scalar("lr") == [(0, 0.5)] and folder.scalar("one") == [(0, 2)]
    assert not {"many", "nested", "words"} & set(folder.metrics[0])
    said = capfd.readouterr().err
    assert said.count("is an array") == 2 and "`words` is not a number" in said
