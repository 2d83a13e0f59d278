//! Parameters that OpenAI's two dialects share: each is written where its target takes it, and is a warning where not.

use std::collections::BTreeSet;

use crate::canonical::{Origin, Request, Target, Warning};

/// The longest `user` and `prompt_cache_key`, in bytes.
const LONGEST_KEY: usize = 64;

/// One request on its way out, as far as its parameters are concerned, with what was said of them so far.
pub(crate) struct Params<'a> {
    request: &'a Request,
    target: &'a Target,
    pub(crate) warnings: BTreeSet<Warning>,
}

impl<'a> Params<'a> {
    pub(crate) fn new(request: &'a Request, target: &'a Target, warnings: &[Warning]) -> Self {
        Params { request, target, warnings: warnings.iter().cloned().collect() }
    }

    pub(crate) fn warn(&mut self, code: &'static str, about: &str) {
        self.warnings.insert(Warning { code, about: about.to_owned() });
    }

    /// A parameter, unless the model refuses it.
    pub(crate) fn taken<T>(&mut self, name: &str, value: Option<T>) -> Option<T> {
        let refused = self.target.refuses(name);
        self.unless(refused, name, value)
    }

    /// A parameter that only OpenAI itself knows, and no other server of the dialect.
    pub(crate) fn for_vendor<T>(&mut self, name: &str, value: Option<T>) -> Option<T> {
        let value = self.unless(self.target.origin != Origin::OpenAi, name, value);
        self.taken(name, value)
    }

    /// A parameter whose values only OpenAI's two dialects share.
    pub(crate) fn own<T>(&mut self, name: &str, value: Option<T>) -> Option<T> {
        let value = self.unless(!self.request.source.is_openai(), name, value);
        self.taken(name, value)
    }

    /// A name of somebody or something, if it is short enough.
    pub(crate) fn key(&mut self, name: &str, value: Option<&'a str>) -> Option<&'a str> {
        let is_long = value.is_some_and(|value| value.len() > LONGEST_KEY);
        let value = self.unless(is_long, name, value);
        self.taken(name, value)
    }

    pub(crate) fn cache_key(&mut self) -> Option<&'a str> {
        let key = self.for_vendor("prompt_cache_key", self.request.cache_key.as_deref());
        self.key("prompt_cache_key", key)
    }

    fn unless<T>(&mut self, left_out: bool, name: &str, value: Option<T>) -> Option<T> {
        if value.is_some() && left_out {
            self.warn("DROPPED_PARAMETER", name);
            return None;
        }
        value
    }
}
