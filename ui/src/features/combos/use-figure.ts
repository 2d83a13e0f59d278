import type { PreviewedFactor } from "@/bindings";
import { useFormat, useMessages } from "@/i18n";

const SECOND = 1_000;

type Figure = PreviewedFactor & { value: number };

/** What is only compared, and so weighs nothing. */
export function isFigure(factor: PreviewedFactor): factor is Figure {
  return factor.value !== null && factor.weight === null;
}

/** What a strategy compares, with its unit: “Quota left 72%”, “Requests lately 8”. */
export function useFigure(): (figure: Figure) => string {
  const words = useMessages().combos;
  const format = useFormat();
  const names: Readonly<Record<string, string>> = { ...words.factors, ...words.figures };
  return ({ factor, value }) => {
    const name = names[factor] ?? factor;
    switch (factor) {
      case "inputPrice":
      case "outputPrice":
        return `${name} ${format.dollars(value)}`;
      case "resetInSeconds":
        return `${name} ${format.duration(value * SECOND)}`;
      case "free":
        return `${name} ${format.percent(value)}`;
      case "contextWindow":
        return `${name} ${format.compact(value)}`;
      case "requests":
        return `${name} ${format.compact(value)}`;
      case "weight":
        return `${name} ${format.number(value)}`;
      default:
        return `${name} ${format.hundredths(value)}`;
    }
  };
}
