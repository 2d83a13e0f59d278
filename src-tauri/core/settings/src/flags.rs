//! Feature flags: settings by the name of their environment variable (gateway specification, 6.2).
//!
//! A flag is another view of a setting, never a second value: what is set here is stored there, and an installation that
//! only knows the variable finds it under the same name. So the table says which flags there are and where they belong; type,
//! default, bounds and source are the setting's own.

use domain::choice;

choice! {
    /// What a flag is about.
    pub enum Group {
        /// Who may do what.
        Security = "security",
        /// Whom requests go to, and what is spared.
        Routing = "routing",
        /// Answers as they come.
        Streaming = "streaming",
        /// What agents see of models.
        Catalogue = "catalogue",
    }
}

/// A setting that is also a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag {
    /// The environment variable of its setting.
    pub name: &'static str,
    pub group: Group,
    /// It is read at the start only, so that a change waits for the next one.
    pub needs_restart: bool,
}

const fn flag(name: &'static str, group: Group) -> Flag {
    Flag { name, group, needs_restart: false }
}

/// Every flag. All of them hold from the next request on.
pub const FLAGS: [Flag; 9] = [
    flag("REQUIRE_API_KEY", Group::Security),
    flag("ALLOW_PRIVATE_PROVIDER_URLS", Group::Security),
    flag("OMNIROUTE_EMERGENCY_FALLBACK", Group::Routing),
    flag("PROTECTED_PRIORITY_INFRA_502_ENABLED", Group::Routing),
    flag("PROVIDER_COOLDOWN_ENABLED", Group::Routing),
    flag("QUOTA_PREFLIGHT_CUTOFF_ENABLED", Group::Routing),
    flag("RATE_LIMIT_AUTO_ENABLE", Group::Routing),
    flag("STREAM_THROUGHPUT_WATCHDOG_ENABLED", Group::Streaming),
    flag("MODELS_CATALOG_PREFIX_MODE", Group::Catalogue),
];

/// The flag of that name.
pub fn named(name: &str) -> Option<&'static Flag> {
    FLAGS.iter().find(|flag| flag.name == name)
}

#[cfg(test)]
mod tests {
    use domain::section::{Kind, Section};

    use super::*;
    use crate::Settings;

    #[test]
    fn every_flag_is_a_setting_that_can_be_switched_or_chosen() {
        let fields = Settings::default().fields();
        for flag in FLAGS {
            let field = fields.iter().find(|field| field.env.as_deref() == Some(flag.name)).expect(flag.name);
            assert!(matches!(field.kind, Kind::Boolean | Kind::Choice), "{}", flag.name);
        }
    }

    #[test]
    fn no_flag_stands_there_twice() {
        let names: std::collections::BTreeSet<&str> = FLAGS.iter().map(|flag| flag.name).collect();
        assert_eq!(names.len(), FLAGS.len());
        assert_eq!(named("REQUIRE_API_KEY").map(|flag| flag.group), Some(Group::Security));
        assert_eq!(named("require_api_key"), None);
    }
}
