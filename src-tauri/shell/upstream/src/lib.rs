//! Outgoing HTTP: transport, headers, address rules, discovery.
