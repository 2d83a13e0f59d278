//! The place of one field in a live section: the value, and the bounds it was declared with.

use std::ops::RangeInclusive;

use serde::Serialize;
use serde_json::Value;

use super::{FieldType, Kind, Section};

/// A field in place.
pub enum Slot<'a> {
    Value(Box<dyn ValueSlot + 'a>),
    Section(&'a mut dyn Section),
}

/// Anything that can be a field: a plain type or a nested section.
pub trait Part {
    /// What bounds apply to; `()` for a section, which has none of its own.
    type Item;

    fn slot(&mut self, bounds: Option<RangeInclusive<Self::Item>>) -> Slot<'_>;
}

/// What is known of a field apart from its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    pub kind: Kind,
    pub unit: Option<&'static str>,
    pub min: Option<Value>,
    pub max: Option<Value>,
    pub choices: &'static [&'static str],
    /// What is wrong with a value that cannot be read: a word of [`crate::wire::fault`].
    pub fault: &'static str,
    /// Whether [`ValueSlot::read`] leaves out a part that must not be shown.
    pub is_secret: bool,
}

/// A plain field with its type erased, so that one walk serves every section.
pub trait ValueSlot {
    fn shape(&self) -> Shape;

    /// As it may be shown.
    fn read(&self) -> Value;

    /// With what must not be shown.
    fn exposed(&self) -> Value;

    /// Sets the value, or says what was expected and changes nothing.
    fn set(&mut self, value: &Value) -> Result<(), String>;

    /// Sets the value, truncated and clamped; `Ok(Some(…))` says that this changed it, `Err` that it could not be read.
    fn absorb(&mut self, value: &Value) -> Result<Option<String>, String>;

    /// [`ValueSlot::absorb`] for an environment variable; zero where it is out of range is not clamped but refused.
    fn absorb_text(&mut self, text: &str) -> Result<Option<String>, String>;

    /// Moves the value into its bounds; whether that changed it.
    fn clamp(&mut self) -> bool;
}

struct Bounded<'a, T: FieldType> {
    value: &'a mut T,
    bounds: Option<RangeInclusive<T::Item>>,
}

impl<T: FieldType> Part for T {
    type Item = T::Item;

    fn slot(&mut self, bounds: Option<RangeInclusive<T::Item>>) -> Slot<'_> {
        Slot::Value(Box::new(Bounded { value: self, bounds }))
    }
}

impl<T: FieldType> ValueSlot for Bounded<'_, T> {
    fn shape(&self) -> Shape {
        let bounds = self.bounds.as_ref();
        Shape {
            kind: T::KIND,
            unit: T::UNIT,
            min: bounds.map(|range| json(range.start())),
            max: bounds.map(|range| json(range.end())),
            choices: T::CHOICES,
            fault: T::FAULT,
            is_secret: T::IS_SECRET,
        }
    }

    fn read(&self) -> Value {
        json(&*self.value)
    }

    fn exposed(&self) -> Value {
        self.value.exposed()
    }

    fn set(&mut self, value: &Value) -> Result<(), String> {
        let mut wanted = T::from_json(value).ok_or_else(|| self.expected())?;
        if let Some(bounds) = &self.bounds
            && wanted.items_mut().iter().any(|item| !bounds.contains(item))
        {
            return Err(self.expected());
        }
        *self.value = wanted;
        Ok(())
    }

    fn absorb(&mut self, value: &Value) -> Result<Option<String>, String> {
        *self.value = T::from_json_loosely(value).ok_or_else(|| self.expected())?;
        let exact = T::from_json(value).is_some();
        Ok(self.adjusted(exact))
    }

    fn absorb_text(&mut self, text: &str) -> Result<Option<String>, String> {
        if self.is_zero_out_of_range(text) {
            return Err(self.expected());
        }
        *self.value = T::from_text(text).ok_or_else(|| self.expected())?;
        Ok(self.adjusted(true))
    }

    fn clamp(&mut self) -> bool {
        let Some(bounds) = &self.bounds else { return false };
        let mut changed = false;
        for item in self.value.items_mut() {
            if *item < *bounds.start() {
                *item = bounds.start().clone();
                changed = true;
            } else if *item > *bounds.end() {
                *item = bounds.end().clone();
                changed = true;
            }
        }
        changed
    }
}

impl<T: FieldType> Bounded<'_, T> {
    /// `expected a whole number from 1 to 65535`.
    fn expected(&self) -> String {
        match &self.bounds {
            None => format!("expected {}", T::EXPECTED),
            Some(range) => {
                format!("expected {} from {} to {}", T::EXPECTED, json(range.start()), json(range.end()))
            }
        }
    }

    /// Zero where only positive numbers make sense: somebody meant to switch something off that cannot be.
    fn is_zero_out_of_range(&self, text: &str) -> bool {
        let is_number = matches!(T::KIND, Kind::Integer | Kind::Number | Kind::Duration);
        let zero = || text.parse::<f64>().is_ok_and(|number| number == 0.0);
        let allowed = |bounds: &RangeInclusive<T::Item>| {
            T::from_text(text).is_some_and(|mut value| value.items_mut().iter().all(|item| bounds.contains(item)))
        };
        is_number && zero() && self.bounds.as_ref().is_some_and(|bounds| !allowed(bounds))
    }

    /// Clamps, and says so when the value is no longer what was given.
    fn adjusted(&mut self, exact: bool) -> Option<String> {
        let clamped = self.clamp();
        (clamped || !exact).then(|| format!("{}; the nearest allowed value is used", self.expected()))
    }
}

fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}
