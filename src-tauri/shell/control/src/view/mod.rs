//! What crosses the edge: the bodies of the REST API and the arguments and results of the window's commands.
//!
//! Plain types in the words of the screen. None of them can hold a credential on the way out; the few that carry one on
//! the way in ([`ConnectionDraft`], [`ConnectionChange`], [`NodeTest`]) keep it in a [`Secret`], which cannot be printed
//! or serialised. Counters and lengths of time are exported to TypeScript as `number`: none of them reaches 2^53.

mod app;
mod catalog;
mod combo;
mod combo_trial;
mod connection;
mod explanation;
mod flag;
mod health;
mod key;
mod key_limits;
mod live;
mod model;
mod node;
mod quota;
mod quota_pool;
mod rate_limit;
mod request;
mod resilience;
mod settings;
mod simulation;
mod usage;
mod words;
mod words_of_domain;

pub use app::{App, ManagementToken, SecretStore};
pub use catalog::{CatalogProvider, CatalogProviders};
pub use combo::{
    Combo, ComboChange, ComboChangeFields, ComboCopy, ComboDocument, ComboDraft, ComboFields, ComboFilter, ComboImport,
    ComboMapping, ComboMappingChange, ComboMappingDraft, ComboMappingReply, ComboMappings, ComboNameTaken, ComboOrder,
    ComboReply, ComboSelection, ComboStep, ComboStepFields, ComboStepInput, ComboTier, ComboWarning, ComboWarningCode,
    Combos, CombosImported, CompositeTiers,
};
pub use combo_trial::{
    ComboMetric, ComboMetrics, ComboMetricsQuery, ComboPreview, ComboPreviewed, ComboSubject, ComboSubjectFields,
    ComboTargetMetric, ComboTest, ComboTestResult, ComboTestResults, PlacedBy, PreviewedFactor, PreviewedRequest,
    PreviewedTarget, SkippedStep, StoredCombo,
};
pub use connection::{
    BatchTest, BatchTestResult, BatchTestResults, Breaker, BreakerState, Connection, ConnectionChange,
    ConnectionDetail, ConnectionDraft, ConnectionFilter, ConnectionModel, ConnectionModels, ConnectionModelsQuery,
    ConnectionOrder, ConnectionReply, ConnectionTest, ConnectionTestReply, ConnectionValidation, Connections, Lockout,
    ModelSource, ProbeProblem,
};
pub use explanation::{
    ConnectionOutlook, ExclusionCause, ExclusionExplanation, ExpectedAnswer, ExplainQuery, ResilienceExplanation,
    RouteExplanation, RouteKind, TargetExplanation,
};
pub use flag::{FeatureFlag, FeatureFlagReply, FeatureFlagValue, FeatureFlags, FlagGroup};
pub use health::{
    BreakerCounts, ConnectionCounts, CredentialCheck, Health, HealthHistory, HealthHistoryQuery, HealthLockout,
    HealthStatus, HealthStretch, MemoryUsage, ProviderBreaker, ProviderHealth, ProviderSummary, RateLimitStatus,
    StoreHealth, SystemStatus,
};
pub use key::{Key, KeyChange, KeyDraft, KeyRecord, KeySecret, Keys};
pub use key_limits::{KeyAutoCandidate, KeyLimitLevel, KeyLimitScope, KeyLimitUnit, KeyLimitUse, KeyTokenLimit};
pub use live::{Changed, EventsQuery, Live, Topic, UnderwayRequest, UnderwayStage};
pub use model::{
    Alias, AliasChange, AliasDraft, AliasReply, Aliases, Model, ModelFilter, ModelPrice, ModelSupports, Models,
};
pub use node::{Node, NodeChange, NodeDraft, NodeReply, NodeTest, NodeTestReply, Nodes};
pub use quota::{
    QuotaBalance, QuotaConnection, QuotaFilter, QuotaHistory, QuotaHistoryQuery, QuotaPoint, QuotaRefresh, QuotaSource,
    QuotaStatus, QuotaWindow,
};
pub use quota_pool::{
    QuotaAccountState, QuotaAllocation, QuotaDimension, QuotaDimensionState, QuotaKeyState, QuotaKeyUse, QuotaPool,
    QuotaPoolChange, QuotaPoolDraft, QuotaPoolReply, QuotaPoolState, QuotaPools, QuotaPreset, QuotaStanding,
};
pub use rate_limit::{RateLimitOverrides, RateLimitOverridesChange};
pub use request::{
    RequestAttempt, RequestDetail, RequestExclusion, RequestFilter, RequestOutcome, RequestRow, RequestTrace, Requests,
    RequestsDeleted, RequestsDeletion,
};
pub use resilience::{
    BannedSignal, BannedSignalMatch, BannedSignalPreview, BreakerDetail, BreakerSelection, BreakerTransition, Breakers,
    CooldownConnection, CooldownFilter, CooldownSelection, CooldownStatus, Cooldowns, CooldownsCleared, CountingWindow,
    HealthReset, ModelCooldown, ModelCooldownSelection, ModelCooldowns, ModelCooldownsCleared, ResilienceConnection,
    ResilienceConnections, ResilienceMeta, ResiliencePatch, ResilienceReset, ResilienceStatus, ResilienceTree,
    ResilienceUpdated, ResilienceWindow,
};
pub use settings::{SettingField, SettingFields, SettingSource, SettingsPatch, SettingsTree};
pub use simulation::{
    ComboAlteration, ComboAlterationFields, ReplayFigures, Replayed, RoutingChange, RoutingSimulated,
    RoutingSimulation, SelectedTarget, SelectionsMade,
};
pub use usage::{UsageGroup, UsageGroupBy, UsageQuery, UsageSummary};
pub use words::{Done, Instant, Secret};
pub use words_of_domain::{
    AuthCarrier, AuthType, Dialect, Interval, Mechanism, ProviderClass, QuotaPeriod, QuotaPolicy, QuotaUnit, Scope,
    Strategy, TestStatus,
};
