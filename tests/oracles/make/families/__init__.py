"""The model families in PyTorch, one a file, stated from the papers and from docs in `src/engine/models`.

They share no code with the Rust side: a mistake would have to be made twice to go unseen. Parameter names are
those of the Rust families, so that a state dict of one loads into the other.
"""
