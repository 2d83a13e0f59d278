/** Italian words of what is on its way, and of how it went in the last hour. */
import type { Messages } from "./en";
import { counter } from "./plural";

const count = counter("it");

export const flow: Messages["flow"] = {
  title: "In corso",
  none: "Non c'è nulla in corso.",
  summary: (running, waiting) =>
    waiting > 0
      ? `${count(running, "richiesta", "richieste")} in corso, ${waiting} in attesa di un posto.`
      : `${count(running, "richiesta", "richieste")} in corso.`,
  columns: { since: "Da", agent: "Agente", model: "Modello", account: "Account", doing: "Che cosa fa" },
  stages: {
    choosing: "Sceglie a chi chiedere",
    waits_for_place: "Aspetta un posto",
    waits_for_rest: "Aspetta la fine di una pausa",
    asking: "Aspetta la risposta",
    answering: "Risponde",
  },
  stageHelp: {
    choosing: "in questo momento non si chiede a nessuno",
    waits_for_place: "l'account ha già tutte le richieste che può avere",
    waits_for_rest: "chiunque si potrebbe chiedere è in pausa per poco",
    asking: "la richiesta è dal provider",
    answering: "la risposta viene inoltrata",
  },
  waitsUntil: (time) => `Aspetta, riprende ${time}`,
  attempt: (n) => `tentativo ${n}`,
  queues: "Per account",
  queueOf: (running, waiting) =>
    [running > 0 && `${running} in corso`, waiting > 0 && `${waiting} in attesa`].filter(Boolean).join(", "),

  lastHour: "Ultima ora",
  outcomes: "Richieste",
  outcomesLabel: ({ answered, failed, part }) =>
    `Richieste dell'ultima ora: ${answered} con risposta, ${failed} fallite, errori ${part}`,
  errorRate: (part) => `errori ${part}`,
  bar: (time, answered, failed, left) => `${time}: ${answered} con risposta, ${failed} fallite, ${left} abbandonate`,
  firstToken: "Primo token",
  duration: "Durata",
  waits: ({ half, most }) => `la metà entro ${half}, 19 su 20 entro ${most}`,
  waitsLabel: (what, { half, most }) =>
    `${what} nell'ultima ora: alla fine, la metà entro ${half}, 19 su 20 entro ${most}`,
  half: "metà",
  most: "19 su 20",
  quiet: "Nessuna richiesta nell'ultima ora.",
};
