/** Numbers, durations and instants as text, in the language of the window. Every figure carries its unit. */
import { spanUnits, wholeUnit } from "./time-span";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export type Format = ReturnType<typeof createFormat>;

export function createFormat(locale: string) {
  const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
  const exact = new Intl.NumberFormat(locale, { maximumFractionDigits: 3 });
  // In British English a million is a small m, like a minute and a thousandth of a second.
  const short = new Intl.NumberFormat(locale.startsWith("en") ? "en-US" : locale, {
    notation: "compact",
    maximumFractionDigits: 1,
  });
  const tenth = new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  const clock = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const clockSeconds = new Intl.DateTimeFormat(locale, {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
  });
  const day = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short" });
  const dayClock = new Intl.DateTimeFormat(locale, {
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  const full = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });
  const ago = new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "short" });
  const dollars = new Intl.NumberFormat(locale, {
    style: "currency",
    currency: "USD",
    currencyDisplay: "narrowSymbol",
  });
  const smallDollars = new Intl.NumberFormat(locale, {
    style: "currency",
    currency: "USD",
    currencyDisplay: "narrowSymbol",
    maximumSignificantDigits: 2,
  });
  const parts = new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 0 });
  const smallParts = new Intl.NumberFormat(locale, { style: "percent", maximumSignificantDigits: 2 });
  const hundredths = new Intl.NumberFormat(locale, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  const conjunction = new Intl.ListFormat(locale, { type: "conjunction" });
  const mark = exact.formatToParts(0.5).find(({ type }) => type === "decimal")?.value ?? ".";
  const unit = (value: number, name: string) =>
    new Intl.NumberFormat(locale, { style: "unit", unit: name, unitDisplay: "short" }).format(value);

  return {
    locale,
    number: (value: number) => whole.format(value),
    compact: (value: number) => short.format(value),
    /** Cents, and of smaller sums their first digits: `$1.20`, `$0.0042`. */
    dollars: (value: number) => (value > 0 && value < 0.095 ? smallDollars : dollars).format(value),
    /** A part of one: `38%`, `0.4%`. */
    percent: (part: number) => (Math.abs(part) > 0 && Math.abs(part) < 0.01 ? smallParts : parts).format(part),
    hundredths: (value: number) => hundredths.format(value),
    megabytes: (bytes: number) => unit(Math.round(bytes / 1_000_000), "megabyte"),
    /** A number that is typed, written as the person types it: `2.5` is `2,5` in Italian. */
    typed: (text: string) => text.replace(".", mark),
    list: (words: string[]) => conjunction.format(words),

    /** How long something took: `840 ms`, `2.4 s`, `3 min 12 s`, `5 h 2 min`, `3 days`. */
    duration(ms: number): string {
      if (ms < SECOND) return `${whole.format(ms)} ms`;
      if (ms < 10 * SECOND) return `${tenth.format(ms / SECOND)} s`;
      if (ms < MINUTE) return `${whole.format(ms / SECOND)} s`;
      if (ms < HOUR) return pair(ms, MINUTE, "min", SECOND, "s");
      if (ms < 2 * DAY) return pair(ms, HOUR, "h", MINUTE, "min");
      return unit(Math.floor(ms / DAY), "day");
    },

    /** How long something lasts so far, in whole seconds: `0 s`, `42 s`, `3 min 12 s`. */
    lasting(ms: number): string {
      const whole = Math.floor(Math.max(0, ms) / SECOND) * SECOND;
      return whole < MINUTE ? `${whole / SECOND} s` : this.duration(whole);
    },

    /** A length of time as it was set, nothing rounded: `250 ms`, `2.5 s`, `90 s`, `10 min`, `24 h`. */
    span(ms: number): string {
      const largest = wholeUnit(ms);
      const unit = largest === "ms" && ms > SECOND ? "s" : largest;
      return `${exact.format(ms / spanUnits[unit])} ${unit}`;
    },

    /** What is left: `0:42` below an hour; the clock time says it better above. */
    remaining(ms: number): string {
      const seconds = Math.max(0, Math.ceil(ms / SECOND));
      return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    },

    /** When waiting ends: a countdown below an hour, a clock time below a day, else with its date. */
    until(instant: number, now: number): { form: "in" | "at" | "on"; text: string } {
      const left = instant - now;
      if (left < HOUR) return { form: "in", text: this.remaining(left) };
      return left < DAY ? { form: "at", text: clock.format(instant) } : { form: "on", text: dayClock.format(instant) };
    },

    clock: (instant: number) => clock.format(instant),
    clockSeconds: (instant: number) => clockSeconds.format(instant),
    day: (instant: number) => day.format(instant),
    /** `1 Dec, 14:32`. */
    dayClock: (instant: number) => dayClock.format(instant),
    full: (instant: number) => full.format(instant),

    relative(instant: number, now: number): string {
      const elapsed = instant - now;
      const distance = Math.abs(elapsed);
      if (distance < 5 * SECOND) return ago.format(0, "second");
      if (distance < MINUTE) return ago.format(Math.round(elapsed / SECOND), "second");
      if (distance < HOUR) return ago.format(Math.round(elapsed / MINUTE), "minute");
      if (distance < DAY) return ago.format(Math.round(elapsed / HOUR), "hour");
      if (distance < 30 * DAY) return ago.format(Math.round(elapsed / DAY), "day");
      return day.format(instant);
    },
  };
}

function pair(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const first = Math.floor(ms / large);
  const second = Math.floor((ms % large) / small);
  return second > 0 ? `${first} ${largeName} ${second} ${smallName}` : `${first} ${largeName}`;
}
