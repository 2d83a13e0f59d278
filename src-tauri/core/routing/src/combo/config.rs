//! The numbers of a combo, and where each comes from (gateway specification, 3.2).

/// What the cascade leads to: defaults, the settings of all combos, those of a provider, the combo's own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {}
