//! The request pipeline on axum.
