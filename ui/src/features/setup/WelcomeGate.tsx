import { Navigate } from "@tanstack/react-router";
import { usePreferences } from "@/host/preferences";
import { useRead } from "@/host/queries";

/** Where the window opens: the set-up for somebody new, else Home. */
export function WelcomeGate() {
  const { preferences } = usePreferences();
  const connections = useRead("connections_list", {}, { enabled: !preferences.onboarded });
  if (preferences.onboarded || connections.isError) return <Navigate to="/home" replace />;
  if (!connections.data) return null;
  return <Navigate to={connections.data.connections.length === 0 ? "/setup" : "/home"} replace />;
}
