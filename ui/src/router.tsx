/** Every screen's address. Panels beside a list are child routes of it, so that they have a real URL. */
import { createRootRoute, createRoute, createRouter, type RouterHistory, redirect } from "@tanstack/react-router";
import { AppShell, Crashed, NotFound } from "@/app/AppShell";
import { AgentsScreen } from "@/features/client-setup/AgentsScreen";
import { AddConnectionPanel } from "@/features/connections/AddConnectionPanel";
import { ConnectionPanel } from "@/features/connections/ConnectionPanel";
import { EndpointPanel } from "@/features/connections/EndpointPanel";
import { PickProviderPanel } from "@/features/connections/PickProviderPanel";
import { HomeScreen } from "@/features/home/HomeScreen";
import { ProviderScreen } from "@/features/providers/ProviderScreen";
import { ProvidersScreen } from "@/features/providers/ProvidersScreen";
import { GeneralScreen } from "@/features/settings/GeneralScreen";
import { SetupScreen, type SetupSearch } from "@/features/setup/SetupScreen";
import { WelcomeGate } from "@/features/setup/WelcomeGate";

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

const providers = createRoute({ getParentRoute: () => root, path: "/providers", component: ProvidersScreen });
const pickProvider = createRoute({ getParentRoute: () => providers, path: "/add", component: PickProviderPanel });

const provider = createRoute({ getParentRoute: () => root, path: "/providers/$providerId", component: ProviderScreen });
const addConnection = createRoute({ getParentRoute: () => provider, path: "/add", component: AddConnectionPanel });
const endpoint = createRoute({ getParentRoute: () => provider, path: "/endpoint", component: EndpointPanel });
const connection = createRoute({
  getParentRoute: () => provider,
  path: "/connections/$connectionId",
  component: ConnectionPanel,
});

const settings = createRoute({
  getParentRoute: () => root,
  path: "/settings",
  beforeLoad: ({ location }) => {
    if (location.pathname === "/settings") throw redirect({ to: "/settings/general" });
  },
});
const general = createRoute({ getParentRoute: () => settings, path: "/general", component: GeneralScreen });
const agents = createRoute({ getParentRoute: () => settings, path: "/agents", component: AgentsScreen });

const routeTree = root.addChildren([
  index,
  home,
  setup,
  providers.addChildren([pickProvider]),
  provider.addChildren([addConnection, endpoint, connection]),
  settings.addChildren([general, agents]),
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
}
