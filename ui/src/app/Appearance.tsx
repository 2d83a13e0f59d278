import { type ReactNode, useLayoutEffect, useSyncExternalStore } from "react";
import { usePreferences } from "@/host/preferences";
import { LanguageProvider, systemLanguage } from "@/i18n";

/** Language and theme, as chosen or as the system has them. */
export function Appearance({ children }: { children: ReactNode }) {
  const { preferences } = usePreferences();
  const systemDark = useSystemDark();
  const dark = preferences.theme === "dark" || (preferences.theme === "system" && systemDark);
  useLayoutEffect(() => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
  }, [dark]);
  const language = preferences.language === "system" ? systemLanguage() : preferences.language;
  return <LanguageProvider language={language}>{children}</LanguageProvider>;
}

const darkQuery = () => matchMedia("(prefers-color-scheme: dark)");

function useSystemDark(): boolean {
  return useSyncExternalStore(
    (listener) => {
      const query = darkQuery();
      query.addEventListener("change", listener);
      return () => query.removeEventListener("change", listener);
    },
    () => darkQuery().matches,
  );
}
