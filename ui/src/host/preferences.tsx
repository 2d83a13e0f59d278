import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";
import type { Preferences } from "./host";
import { useHost } from "./index";

type PreferencesContextValue = {
  readonly preferences: Preferences;
  set<K extends keyof Preferences>(key: K, value: Preferences[K]): void;
};

const PreferencesContext = createContext<PreferencesContextValue | null>(null);

/** `initial` is read before the first paint, so that the window never flashes in the wrong theme or language. */
export function PreferencesProvider({ initial, children }: { initial: Preferences; children: ReactNode }) {
  const host = useHost();
  const [preferences, setPreferences] = useState(initial);
  const set = useCallback(
    <K extends keyof Preferences>(key: K, value: Preferences[K]) => {
      setPreferences((current) => ({ ...current, [key]: value }));
      void host.preferences.save(key, value);
    },
    [host],
  );
  const value = useMemo(() => ({ preferences, set }), [preferences, set]);
  return <PreferencesContext value={value}>{children}</PreferencesContext>;
}

export function usePreferences(): PreferencesContextValue {
  const value = useContext(PreferencesContext);
  if (!value) throw new Error("usePreferences needs a PreferencesProvider above it");
  return value;
}
