//! What was consumed.

use domain::Millis;
use store::{GroupBy, UsageTotals};

use crate::view::{Instant, UsageGroup, UsageGroupBy, UsageQuery, UsageSummary};
use crate::{Control, ControlError};

const DEFAULT_SPAN: Millis = Millis::days(30);

/// Consumption between two instants, in groups and in total.
pub async fn usage_summary(control: &Control, query: UsageQuery) -> Result<UsageSummary, ControlError> {
    let until = query.until.map_or_else(|| control.now() + Millis::new(1), Instant::timestamp);
    let since = query.since.map_or(until - DEFAULT_SPAN, Instant::timestamp);
    if since > until {
        return Err(ControlError::invalid("since", "must not be later than until"));
    }
    let group_by = match query.group_by.unwrap_or_default() {
        UsageGroupBy::Day => GroupBy::Day { offset_seconds: 0 },
        UsageGroupBy::Provider => GroupBy::Provider,
        UsageGroupBy::Model => GroupBy::Model,
        UsageGroupBy::Key => GroupBy::Key,
        UsageGroupBy::Connection => GroupBy::Connection,
        UsageGroupBy::Combo => GroupBy::Combo,
    };
    let summary = control.store().usage_summary(group_by, since, until).await?;
    Ok(UsageSummary {
        since: since.into(),
        until: until.into(),
        groups: summary
            .groups
            .into_iter()
            .map(|group| UsageGroup { name: group.name, ..view_of(group.group, &group.totals) })
            .collect(),
        totals: view_of(None, &summary.totals),
    })
}

fn view_of(group: Option<String>, totals: &UsageTotals) -> UsageGroup {
    let input = totals.input_fresh.saturating_add(totals.cache_read).saturating_add(totals.cache_write);
    UsageGroup {
        group,
        name: None,
        requests: totals.requests,
        successes: totals.successes,
        failures: totals.failures,
        aborted: totals.aborted,
        tokens_input: input,
        tokens_output: totals.output,
        tokens_cache_read: totals.cache_read,
        tokens_cache_creation: totals.cache_write,
        tokens_reasoning: totals.reasoning,
        cost: totals.cost,
    }
}
