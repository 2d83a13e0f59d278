//! The acceptance harness: a world with a headless server, real sockets, a clock in hand, and scripted providers.
