//! Providers and models as data.
