//! Health of providers, connections and models, composed by the Engine.
