//! A scripted provider: a real HTTP server in four dialects.
