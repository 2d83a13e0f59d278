//! The whole settings tree: layers, bounds, patches.
