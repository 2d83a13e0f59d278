/** Two languages, one typed dictionary. Messages with values are functions; a missing Italian key does not compile. */
import { createContext, type ReactNode, useContext, useEffect, useMemo } from "react";
import { createFormat, type Format } from "@/lib/format";
import { en, type Messages } from "./en";
import { it } from "./it";

export type Language = "en" | "it";
export type { Messages };

export const dictionaries: Record<Language, Messages> = { en, it };

type Words = { readonly messages: Messages; readonly format: Format };

const LanguageContext = createContext<Words | null>(null);

export function LanguageProvider({ language, children }: { language: Language; children: ReactNode }) {
  const value = useMemo(
    () => ({ messages: dictionaries[language], format: createFormat(locale(language)) }),
    [language],
  );
  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);
  return <LanguageContext value={value}>{children}</LanguageContext>;
}

export function useMessages(): Messages {
  return useWords().messages;
}

export function useFormat(): Format {
  return useWords().format;
}

/** The first of the system's languages that we speak. */
export function systemLanguage(preferred: readonly string[] = navigator.languages): Language {
  for (const tag of preferred) {
    const language = tag.slice(0, 2).toLowerCase();
    if (language === "en" || language === "it") return language;
  }
  return "en";
}

function useWords(): Words {
  const words = useContext(LanguageContext);
  if (!words) throw new Error("a LanguageProvider is missing above");
  return words;
}

/** The system's own region where it matches, so that dates look as they do elsewhere on the machine. */
function locale(language: Language): string {
  return navigator.languages.find((tag) => tag.toLowerCase().startsWith(language)) ?? language;
}
