"""Draws the pictures of the examples in docs/examples: each example runs as it is, and `orrery render` draws one view.

    python examples/pictures.py --orrery ../target/release/orrery --text tinyshakespeare.txt [NAME ..]

Needs what the examples need. The pictures are of the views in the dark theme, as everywhere in the documentation, and
of tinyshakespeare where an example reads a text.
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
OUT = HERE.parents[1] / "docs" / "examples"

#: By example: the view, its size in points, and whether it reads a text.
PICTURES = {
    "nanogpt_like": ("attention", "960x560", True),
    "bdh": ("attention", "960x560", True),
    "neural_ode": ("logged", "960x460", False),
    "huggingface": ("attention", "960x560", False),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PICTURES)}; without one all of them")
    parser.add_argument("--orrery", default="orrery", help="the program")
    parser.add_argument("--text", default="", help="the text that examples read; without it two lines of Hamlet")
    parser.add_argument("--runs", default="", help="where runs are kept; without it they are removed")
    args = parser.parse_args()
    unknown = set(args.names) - set(PICTURES)
    if unknown:
        parser.error(f"there is no example {', '.join(sorted(unknown))}")

    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name in args.names or PICTURES:
            view, size, has_text = PICTURES[name]
            text = ["--text", args.text] if has_text else []
            folder = importlib.import_module(name).main([*text, "--out", args.runs or scratch])
            picture = ["--view", view, "--size", size, "--scale", "1", "--out", str(OUT / f"{name}.png")]
            subprocess.run([args.orrery, "render", folder, *picture], check=True)


if __name__ == "__main__":
    main()
