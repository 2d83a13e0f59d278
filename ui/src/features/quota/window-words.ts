import type { Messages } from "@/i18n";

/** A window's name in words; what the provider calls otherwise stays as it is. */
export function windowWords(name: string, { quota: { windows, weekOf } }: Messages): string {
  if (name.startsWith("7d:")) return weekOf(name.slice(3));
  return name in windows ? windows[name as keyof typeof windows] : name;
}
