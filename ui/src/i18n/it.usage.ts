/** Italian words of what was consumed. */
import type { Messages } from "./en";

export const usage: Messages["usage"] = {
  title: "Consumi",
  help: "Che cosa hanno consumato i tuoi agenti. I costi sono a prezzi di listino; un modello dal prezzo sconosciuto vale zero.",
  range: "Periodo",
  ranges: { 7: "7 giorni", 30: "30 giorni", 90: "90 giorni" },
  measure: "Che cosa mostra il grafico",
  measures: { cost: "Costo", tokens: "Token", requests: "Richieste" },
  by: "Raggruppati per",
  groups: { provider: "Provider", model: "Modello", connection: "Connessione", combo: "Combo", key: "Chiave" },
  none: {
    provider: "nessun provider raggiunto",
    model: "nessun modello raggiunto",
    connection: "nessuna connessione raggiunta",
    combo: "senza combo",
    key: "senza chiave",
  },
  totals: {
    requests: "Richieste",
    answered: "Con risposta",
    input: "Token in ingresso",
    output: "Token in uscita",
    cost: "Costo",
  },
  shareOf: { cost: "Parte del costo", tokens: "Parte dei token", requests: "Parte delle richieste" },
  columns: {
    requests: "Richieste",
    answered: "Risposte",
    input: "Ingresso",
    output: "Uscita",
    cost: "Costo",
  },
  perDay: "Giorno per giorno",
  perDayHelp: "Giorni in UTC.",
  cached: (part) => `di cui ${part} dalla cache`,
  reasoning: (tokens) => `di cui ${tokens} di ragionamento`,
  chart: (measure, total, days, most, day) =>
    `${measure} degli ultimi ${days} giorni: ${total} in tutto, il massimo il ${day} con ${most}`,
  chartEmpty: (measure, days) => `${measure} degli ultimi ${days} giorni: niente`,
  day: (day, value, requests) => `${day}: ${value}, ${requests} richieste`,
  tokensOf: (tokens) => `${tokens} token`,
  requestsOf: (requests, failed) => `${requests} richieste, ${failed} fallite`,
  save: "Salva come CSV",
  saved: (name) => `Salvato come ${name}`,
  emptyTitle: "Ancora nessun consumo",
  emptyHelp:
    "Dopo la prima richiesta, qui si contano i suoi token e il suo costo: per giorno, provider, modello, combo e chiave.",
  openConnection: (name) => `Apri ${name}`,
};
