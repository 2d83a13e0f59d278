//! From a model name to ranked attempts, and to an answer when nothing is left.
