//! Wire formats: glance, splice, framing, errors, stream reading.
