/** Italian words of how the accounts of a provider take turns. */
import type { Messages } from "./en";

export const accounts: Messages["accounts"] = {
  title: "Quale connessione viene usata",
  help: "Per le connessioni pronte di questo provider. Qualunque sia la scelta, la successiva subentra quando una fallisce.",
  strategy: "Si alternano",
  strategies: {
    priority: { name: "Per priorità", help: "La prima dell'elenco che è pronta serve tutto." },
    weighted: { name: "Per peso", help: "Una viene estratta a caso, tanto spesso quanto dice il suo peso." },
    "fill-first": {
      name: "Riempi la prima",
      help: "Una viene usata finché non c'entra più nulla, poi la successiva dell'elenco.",
    },
    "round-robin": { name: "A turno", help: "Una dopo l'altra, così ognuna riceve lo stesso numero di richieste." },
    p2c: { name: "La migliore di due", help: "Se ne estraggono due, e serve la più veloce e affidabile." },
    random: { name: "A caso", help: "Una qualunque, a caso." },
    "least-used": { name: "La meno usata", help: "Quella con meno richieste nelle ultime ore." },
    "cost-optimized": {
      name: "La più economica",
      help: "La più economica; le connessioni di un provider costano di solito lo stesso, allora per priorità.",
    },
    "strict-random": { name: "Mescolate", help: "A caso, ma ognuna serve una volta prima che una serva due volte." },
  },
  weight: (name) => `Peso di ${name}`,
  weightHelp: "Il doppio del peso riceve il doppio delle richieste; 0 serve solo quando non resta nessun'altra.",
  weights: "Pesi",
  weightRange: "Un numero intero da 0 a 100.",
  session: {
    title: "Conversazioni",
    help: "Gli agenti nominano la sessione in un'intestazione; senza, vale il primo messaggio. Nessun nome viene salvato o inoltrato.",
  },
  fields: {
    "routing.accountStrategy": { label: "Come si alternano le connessioni" },
    "routing.stickyRoundRobinLimit": {
      label: "Di seguito",
      help: "Tante richieste vanno a una connessione prima che tocchi alla successiva. Vale per ogni provider.",
      unit: "richieste",
    },
    sessionAffinityTtlMs: {
      label: "Una sessione resta con la sua connessione per",
      help: "Contato dall'ultima richiesta, presso ogni provider; si sposta quando quella connessione viene risparmiata. 0 non la lega.",
    },
  },
};
