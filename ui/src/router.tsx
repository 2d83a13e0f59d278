/** Every screen's address. Panels beside a list are child routes of it, so that they have a real URL. */
import { createRootRoute, createRoute, createRouter, type RouterHistory, redirect } from "@tanstack/react-router";
import { AppShell, Crashed, NotFound } from "@/app/AppShell";
import { AboutScreen } from "@/features/about/AboutScreen";
import { AgentsScreen } from "@/features/client-setup/AgentsScreen";
import { ComboDefaultsScreen } from "@/features/combos/ComboDefaultsScreen";
import { ComboScreen, NewComboScreen } from "@/features/combos/ComboScreen";
import { CombosScreen } from "@/features/combos/CombosScreen";
import { ComboTestPanel } from "@/features/combos/ComboTestPanel";
import { ExportPanel, ImportPanel } from "@/features/combos/TransferPanels";
import { AddConnectionPanel } from "@/features/connections/AddConnectionPanel";
import { ConnectionPanel } from "@/features/connections/ConnectionPanel";
import { EndpointPanel } from "@/features/connections/EndpointPanel";
import { PickProviderPanel } from "@/features/connections/PickProviderPanel";
import { CooldownsScreen } from "@/features/cooldowns/CooldownsScreen";
import { readCooldownSearch } from "@/features/cooldowns/search";
import { ExplainScreen } from "@/features/explain/ExplainScreen";
import { FlagsScreen } from "@/features/flags/FlagsScreen";
import { BreakerPanel } from "@/features/health/BreakerPanel";
import { HealthScreen } from "@/features/health/HealthScreen";
import { HomeScreen } from "@/features/home/HomeScreen";
import { AddKeyPanel } from "@/features/keys/AddKeyPanel";
import { KeyPanel } from "@/features/keys/KeyPanel";
import { KeysScreen } from "@/features/keys/KeysScreen";
import { ModelCooldownsScreen } from "@/features/lockouts/ModelCooldownsScreen";
import { ModelLockoutScreen } from "@/features/lockouts/ModelLockoutScreen";
import { AddNamePanel, NamePanel } from "@/features/names/NamePanels";
import { NamesScreen } from "@/features/names/NamesScreen";
import { ProviderCombosScreen } from "@/features/providers/ProviderCombosScreen";
import { ProviderScreen } from "@/features/providers/ProviderScreen";
import { ProvidersScreen } from "@/features/providers/ProvidersScreen";
import { AddPoolPanel, PoolPanel } from "@/features/quota/PoolPanels";
import { PoolsScreen } from "@/features/quota/PoolsScreen";
import { QuotaScreen } from "@/features/quota/QuotaScreen";
import { RequestPanel } from "@/features/requests/RequestPanel";
import { RequestsScreen } from "@/features/requests/RequestsScreen";
import { readSearch } from "@/features/requests/search";
import { ResilienceScreen } from "@/features/resilience/ResilienceScreen";
import { AddRulePanel, RulePanel } from "@/features/rules/RulePanels";
import { RulesScreen } from "@/features/rules/RulesScreen";
import { SecurityScreen } from "@/features/security/SecurityScreen";
import { GeneralScreen } from "@/features/settings/GeneralScreen";
import { TrafficScreen } from "@/features/settings/TrafficScreen";
import { SetupScreen, type SetupSearch } from "@/features/setup/SetupScreen";
import { WelcomeGate } from "@/features/setup/WelcomeGate";
import { SimulateScreen } from "@/features/simulate/SimulateScreen";
import { readSimulateSearch } from "@/features/simulate/search";
import { readUsageSearch } from "@/features/usage/search";
import { UsageScreen } from "@/features/usage/UsageScreen";

/** Drawn beside the screen it belongs to, which stays where it was scrolled. */
const panel = { panel: true };

const root = createRootRoute({ component: AppShell });

const index = createRoute({ getParentRoute: () => root, path: "/", component: WelcomeGate });
const home = createRoute({ getParentRoute: () => root, path: "/home", component: HomeScreen });
const setup = createRoute({
  getParentRoute: () => root,
  path: "/setup",
  validateSearch: (search): SetupSearch => ({
    ...(typeof search.provider === "string" && { provider: search.provider }),
    ...(typeof search.connection === "string" && { connection: search.connection }),
    ...(typeof search.model === "string" && { model: search.model }),
    ...(search.step === "request" && { step: search.step }),
  }),
  component: SetupScreen,
});

const requests = createRoute({
  getParentRoute: () => root,
  path: "/requests",
  validateSearch: readSearch,
  component: RequestsScreen,
});
const request = createRoute({
  getParentRoute: () => requests,
  path: "/$requestId",
  staticData: panel,
  component: RequestPanel,
});

const usage = createRoute({
  getParentRoute: () => root,
  path: "/usage",
  validateSearch: readUsageSearch,
  component: UsageScreen,
});

const providers = createRoute({ getParentRoute: () => root, path: "/providers", component: ProvidersScreen });
const pickProvider = createRoute({
  getParentRoute: () => providers,
  path: "/add",
  staticData: panel,
  component: PickProviderPanel,
});

const provider = createRoute({ getParentRoute: () => root, path: "/providers/$providerId", component: ProviderScreen });
const addConnection = createRoute({
  getParentRoute: () => provider,
  path: "/add",
  staticData: panel,
  component: AddConnectionPanel,
});
const endpoint = createRoute({
  getParentRoute: () => provider,
  path: "/endpoint",
  staticData: panel,
  component: EndpointPanel,
});
const connection = createRoute({
  getParentRoute: () => provider,
  path: "/connections/$connectionId",
  staticData: panel,
  component: ConnectionPanel,
});

const providerCombos = createRoute({
  getParentRoute: () => root,
  path: "/providers/$providerId/combos",
  component: ProviderCombosScreen,
});

const combos = createRoute({ getParentRoute: () => root, path: "/combos", component: CombosScreen });
const importCombos = createRoute({
  getParentRoute: () => combos,
  path: "/import",
  staticData: panel,
  component: ImportPanel,
});
const exportCombos = createRoute({
  getParentRoute: () => combos,
  path: "/export",
  staticData: panel,
  component: ExportPanel,
});
const newCombo = createRoute({ getParentRoute: () => root, path: "/combos/new", component: NewComboScreen });
const comboDefaults = createRoute({
  getParentRoute: () => root,
  path: "/combos/defaults",
  component: ComboDefaultsScreen,
});
const combo = createRoute({ getParentRoute: () => root, path: "/combos/$comboId", component: ComboScreen });

const comboTest = createRoute({
  getParentRoute: () => combo,
  path: "/test",
  staticData: panel,
  component: ComboTestPanel,
});

const monitoring = createRoute({
  getParentRoute: () => root,
  path: "/monitoring",
  beforeLoad: ({ location }) => {
    if (location.pathname === "/monitoring") throw redirect({ to: "/monitoring/health" });
  },
});
const health = createRoute({ getParentRoute: () => monitoring, path: "/health", component: HealthScreen });
const breaker = createRoute({
  getParentRoute: () => health,
  path: "/$providerId",
  staticData: panel,
  component: BreakerPanel,
});
const cooldowns = createRoute({
  getParentRoute: () => monitoring,
  path: "/cooldowns",
  validateSearch: readCooldownSearch,
  component: CooldownsScreen,
});
const quota = createRoute({ getParentRoute: () => monitoring, path: "/quota", component: QuotaScreen });
const pools = createRoute({ getParentRoute: () => monitoring, path: "/quota/pools", component: PoolsScreen });
const addPool = createRoute({ getParentRoute: () => pools, path: "/add", staticData: panel, component: AddPoolPanel });
const pool = createRoute({ getParentRoute: () => pools, path: "/$poolId", staticData: panel, component: PoolPanel });
const explain = createRoute({
  getParentRoute: () => monitoring,
  path: "/explain",
  validateSearch: (search): { model?: string } => ({
    ...(typeof search.model === "string" && search.model && { model: search.model }),
  }),
  component: ExplainScreen,
});
const simulate = createRoute({
  getParentRoute: () => monitoring,
  path: "/simulate",
  validateSearch: readSimulateSearch,
  component: SimulateScreen,
});

const settings = createRoute({
  getParentRoute: () => root,
  path: "/settings",
  beforeLoad: ({ location }) => {
    if (location.pathname === "/settings") throw redirect({ to: "/settings/general" });
  },
});
const general = createRoute({ getParentRoute: () => settings, path: "/general", component: GeneralScreen });
const traffic = createRoute({ getParentRoute: () => settings, path: "/traffic", component: TrafficScreen });
const resilience = createRoute({ getParentRoute: () => settings, path: "/resilience", component: ResilienceScreen });
const modelCooldowns = createRoute({
  getParentRoute: () => settings,
  path: "/cooldowns",
  component: ModelCooldownsScreen,
});
const lockout = createRoute({ getParentRoute: () => settings, path: "/lockout", component: ModelLockoutScreen });
const rules = createRoute({ getParentRoute: () => settings, path: "/rules", component: RulesScreen });
const addRule = createRoute({
  getParentRoute: () => rules,
  path: "/add",
  validateSearch: (search): { provider?: string } => ({
    ...(typeof search.provider === "string" && { provider: search.provider }),
  }),
  staticData: panel,
  component: AddRulePanel,
});
const rule = createRoute({
  getParentRoute: () => rules,
  path: "/$providerId/$position",
  staticData: panel,
  component: RulePanel,
});
const flags = createRoute({ getParentRoute: () => settings, path: "/flags", component: FlagsScreen });
const names = createRoute({ getParentRoute: () => settings, path: "/names", component: NamesScreen });
const addName = createRoute({ getParentRoute: () => names, path: "/add", staticData: panel, component: AddNamePanel });
const name = createRoute({ getParentRoute: () => names, path: "/$nameId", staticData: panel, component: NamePanel });
const keys = createRoute({ getParentRoute: () => settings, path: "/keys", component: KeysScreen });
const addKey = createRoute({ getParentRoute: () => keys, path: "/add", staticData: panel, component: AddKeyPanel });
const key = createRoute({ getParentRoute: () => keys, path: "/$keyId", staticData: panel, component: KeyPanel });
const agents = createRoute({ getParentRoute: () => settings, path: "/agents", component: AgentsScreen });
const security = createRoute({ getParentRoute: () => settings, path: "/security", component: SecurityScreen });
const about = createRoute({ getParentRoute: () => settings, path: "/about", component: AboutScreen });

const routeTree = root.addChildren([
  index,
  home,
  setup,
  requests.addChildren([request]),
  usage,
  providers.addChildren([pickProvider]),
  provider.addChildren([addConnection, endpoint, connection]),
  providerCombos,
  combos.addChildren([importCombos, exportCombos]),
  newCombo,
  comboDefaults,
  combo.addChildren([comboTest]),
  monitoring.addChildren([
    health.addChildren([breaker]),
    cooldowns,
    quota,
    pools.addChildren([addPool, pool]),
    explain,
    simulate,
  ]),
  settings.addChildren([
    general,
    traffic,
    resilience,
    modelCooldowns,
    lockout,
    rules.addChildren([addRule, rule]),
    flags,
    names.addChildren([addName, name]),
    keys.addChildren([addKey, key]),
    agents,
    security,
    about,
  ]),
]);

/** `history` is the browser's own unless a test brings another. */
export function createAppRouter(history?: RouterHistory) {
  return createRouter({
    routeTree,
    defaultPreload: "intent",
    defaultNotFoundComponent: NotFound,
    defaultErrorComponent: Crashed,
    ...(history && { history }),
  });
}

export const router = createAppRouter();

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
  interface StaticDataRouteOption {
    panel?: boolean;
  }
}
