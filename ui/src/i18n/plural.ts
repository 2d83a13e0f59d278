/** `count("en", 3, "connection", "connections")` is “3 connections”, with the number written as the language does. */
export function counter(locale: string) {
  const rules = new Intl.PluralRules(locale);
  const number = new Intl.NumberFormat(locale);
  return (n: number, one: string, other: string): string =>
    `${number.format(n)} ${rules.select(n) === "one" ? one : other}`;
}
