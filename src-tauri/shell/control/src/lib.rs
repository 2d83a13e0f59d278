//! Every management operation once, and its REST adapter.
