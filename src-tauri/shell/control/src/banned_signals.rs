//! What a ban phrase would have hit, before it is saved: a word that is too broad bans healthy accounts for good
//! (resilience specification, 7.2 and G19).

use std::sync::Arc;

use store::RequestFilter;

use crate::view::{BannedSignal, BannedSignalMatch, BannedSignalPreview};
use crate::{Control, ControlError};

const LONGEST_PHRASE: usize = 200;
const MOST_EXAMPLES: usize = 10;

/// Looks for a phrase in the last errors of connections and in those of recent requests. Nothing changes.
pub async fn banned_signals_preview(
    control: &Control,
    signal: BannedSignal,
) -> Result<BannedSignalPreview, ControlError> {
    let phrase = signal.phrase.trim().to_lowercase();
    if phrase.is_empty() || phrase.chars().count() > LONGEST_PHRASE {
        return Err(ControlError::invalid("phrase", format!("must have 1 to {LONGEST_PHRASE} characters")));
    }
    let hits = |text: &str| text.to_lowercase().contains(&phrase);
    let connections = Arc::clone(&control.connections());
    let mut matches = Vec::new();
    for entry in connections.iter() {
        let Some(error) = control.engine().connection(&entry.connection.id).last_error else { continue };
        if hits(&error.message) {
            matches.push(BannedSignalMatch {
                connection_id: entry.connection.id.to_string(),
                connection_name: entry.connection.name.clone(),
                last_error_at: error.at.into(),
                excerpt: error.message,
            });
        }
    }
    let wanted = RequestFilter { text: Some(signal.phrase.trim().to_owned()), ..RequestFilter::default() };
    let (records, _) = control.store().list_requests(&wanted, None, store::MAX_PAGE).await?;
    let mut examples: Vec<String> = Vec::new();
    for error in records.into_iter().filter_map(|record| record.error_summary) {
        if examples.len() < MOST_EXAMPLES && hits(&error) && !examples.contains(&error) {
            examples.push(error);
        }
    }
    Ok(BannedSignalPreview { matches, examples })
}
