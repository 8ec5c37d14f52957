"""Large arrays of an answer, as safetensors beside its JSON."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from orrery_log import answer_tensors
from strict import array


def asked(run, id, name):
    """The answer to a question, and the tensors beside it as shape and values; None without a file."""
    Path(run.folder, "ask", f"{id}.json").write_text(json.dumps({"ask": name}))
    run.log({"a": 1})
    made = json.loads(Path(run.folder, "answer", f"{id}.json").read_bytes())
    path = Path(run.folder, "answer", f"{id}.safetensors")
    assert sorted(p.name for p in path.parent.iterdir() if p.name.startswith(id) or p.name.startswith(".")) == (
        [f"{id}.json", path.name] if path.exists() else [f"{id}.json"]
    )
    if not path.exists():
        return made, None
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    assert header.pop("__metadata__") == {"format": "pt"} and length % 8 == 0
    found, end = {}, 0
    for name, tensor in header.items():
        start, stop = tensor["data_offsets"]
        assert start == end and tensor["dtype"] == "F32"
        end = stop
        found[name] = (tensor["shape"], struct.unpack(f"<{(stop - start) // 4}f", body[start:stop]))
    assert end == len(body)
    return made, found


def test_large_arrays_lie_beside_the_answer(begin):
    many = [float(n) for n in range(300_000)]
    answers = {"one": lambda: many, "few": lambda: many[:1000], "some": lambda: {"h.0": many, "norm": 2.5}}
    run = begin(allow=list(answers), answers=answers)
    made, found = asked(run, "1", "one")
    assert made["state"] == "answered" and "sample" not in made and found == {"one": ([300_000], tuple(many))}
    made, found = asked(run, "2", "few")
    assert found is None and made["sample"]["payload"] == many[:1000]
    made, found = asked(run, "3", "some")
    assert found == {"h.0": ([300_000], tuple(many)), "norm": ([], (2.5,))} and len(json.dumps(made)) < 300


def test_what_is_not_arrays_alone_stays_in_the_answer(begin):
    many = [float(n) for n in range(300_000)]
    run = begin(allow=["mixed"], answers={"mixed": lambda: {"words": "as before", "h.0": many}})
    made, found = asked(run, "1", "mixed")
    assert found is None and made["sample"]["payload"] == {"words": "as before", "h.0": many}


def test_more_arrays_than_a_reader_takes_are_refused(begin, monkeypatch):
    monkeypatch.setattr(answer_tensors, "MAX_FILE", 3 << 20)
    numpy = pytest.importorskip("numpy")
    one = numpy.zeros((512, 512), dtype=numpy.float32)
    answers = {
        "large": lambda: {str(n): one for n in range(4)},
        "full": lambda: {str(n): one for n in range(3)},
        "names": lambda: {"x" * 200_000 + str(n): one[:200] for n in range(6)},
    }
    run = begin(allow=list(answers), answers=answers)
    for id, name in (("1", "large"), ("2", "full"), ("3", "names")):
        made, found = asked(run, id, name)
        assert made["state"] == "refused" and "ask for a part" in made["words"] and found is None, name


def test_arrays_and_tensors_of_every_type(begin):
    numpy = pytest.importorskip("numpy")
    big = numpy.arange(600 * 600, dtype=numpy.float64).reshape(600, 600)
    layers = {"layers": [{"w": big.T, "b": numpy.float16(0.5)}, {"w": numpy.ones(3), "b": 2}]}
    run = begin(allow=["layers"], answers={"layers": lambda: layers})
    _, found = asked(run, "1", "layers")
    assert found["layers/0/w"] == ([600, 600], tuple(big.T.flatten().tolist()))
    assert found["layers/0/b"] == ([], (0.5,)) and found["layers/1/w"] == ([3], (1, 1, 1))
    torch = pytest.importorskip("torch")
    weights = {"w": torch.ones(2, 600, 600, dtype=torch.bfloat16, requires_grad=True), "b": torch.tensor(3)}
    run = begin(allow=["weights"], answers={"weights": lambda: weights})
    _, found = asked(run, "1", "weights")
    assert found["w"][0] == [2, 600, 600] and set(found["w"][1]) == {1.0} and found["b"] == ([], (3.0,))
    safetensors = pytest.importorskip("safetensors.torch")
    read = safetensors.load_file(Path(run.folder, "answer", "1.safetensors"))
    assert torch.equal(read["w"], weights["w"].float())


def test_empty_and_small_arrays_are_json(begin):
    numpy = pytest.importorskip("numpy")
    many = numpy.zeros(400_000)
    run = begin(allow=["part", "small"], answers={"part": lambda: [many, many[:0]], "small": lambda: many[:100]})
    made, found = asked(run, "1", "part")
    assert found is None and array(made["sample"]["payload"][0])[0] == [400_000]
    assert asked(run, "2", "small")[1] is None
