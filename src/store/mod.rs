//! A run folder: writer (a sink), reader (replay), checkpoints, exports.
