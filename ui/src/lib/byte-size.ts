/** Amounts of memory as a person writes them: `64 MiB`, `512 KiB`. Settings keep bytes. */

const units = { KiB: 1_024, MiB: 1_048_576, GiB: 1_073_741_824 } as const;
type SizeUnit = keyof typeof units;

/** The unit in which large amounts are typed when none is written. */
export const sizeUnit = "MiB" satisfies SizeUnit;

/** The largest unit in which it is at least one. */
export function naturalSize(bytes: number): { amount: number; unit: SizeUnit } {
  const unit = (["GiB", "MiB"] as const).find((candidate) => bytes >= units[candidate]) ?? "KiB";
  return { amount: Number((bytes / units[unit]).toFixed(3)), unit };
}

/** `64` in MiB, `512 KiB` whatever the unit; `MB` is taken for `MiB`. `null` when it is no amount of memory. */
export function readSize(text: string): number | null {
  const [, digits, written = "m"] = /^\s*(\d+(?:[.,]\d+)?)\s*([kmg])?i?b?\s*$/i.exec(text) ?? [];
  if (digits === undefined) return null;
  const unit = `${written.toUpperCase()}iB` as SizeUnit;
  return Math.round(Number(digits.replace(",", ".")) * units[unit]);
}

/** The number alone, in MiB. */
export function writeSize(bytes: number): string {
  return String(Number((bytes / units[sizeUnit]).toFixed(6)));
}
