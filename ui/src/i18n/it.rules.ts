/** Italian words of what errors of a provider mean. */
import type { Messages } from "./en";
import { counter } from "./plural";

const count = counter("it");

export const rules: Messages["rules"] = {
  title: "Regole",
  help: "Che cosa significa un errore di un provider, quando ne sai più tu di OmniRoute.",
  add: "Nuova regola",
  addAction: "Spiega che cosa significa un errore",
  fromError: "Crea una regola per questo errore",
  filter: "Filtra le regole",
  fields: {
    providerErrorRules: {
      label: "Regole per gli errori",
      help: "Che cosa significa un errore di un provider, che cosa riposa e per quanto.",
    },
  },
  emptyTitle: "Ancora nessuna regola tua",
  emptyHelp:
    "OmniRoute legge un errore dal suo stato e dalle parole che conosce. Se un tuo provider si esprime in altro modo, una regola dice che cosa intende.",
  example: {
    title: "Per esempio",
    said: (status, text) => `Un provider risponde ${status} con «${text}».`,
    without: "Senza regola, un 400 è colpa della richiesta: torna all'agente e non si chiede a nessun altro.",
    withRule:
      "Con una regola significa che la quota di questa connessione è esaurita: risponde la connessione seguente, e questa riposa per un po'.",
    text: "daily cap reached",
  },
  count: (n, most) => `${n} di ${count(most, "regola", "regole")} al massimo`,
  full: (most) => `Ci sono già ${most} regole e altre non ci stanno. Eliminane prima una.`,
  orderHelp:
    "Tra le regole di un provider vale la prima che corrisponde. Trascina per riordinare, o usa le frecce sulla maniglia.",
  rulesOf: (provider) => `Regole di ${provider}`,
  notConnected: "Al momento nessuna connessione porta a questo provider.",
  columns: {
    status: "Stato",
    match: "L'errore dice",
    scope: "Riposa",
    reason: "Vale come",
    rest: "Per",
  },
  handle: (rule, position, of) => `Sposta ${rule}, posizione ${position} di ${of}`,
  moved: (rule, position, of) => `${rule} ora è in posizione ${position} di ${of}`,
  name: (status, match) => `${status} «${match}»`,
  scopes: {
    connection: {
      label: "Questa connessione",
      help: "L'account con tutti i suoi modelli; si chiede alla connessione seguente.",
    },
    model: {
      label: "Solo il modello",
      help: "Questo modello su questa connessione; gli altri suoi modelli continuano.",
    },
    provider: {
      label: "Come al solito",
      help: "La regola dice solo come vale l'errore; chi riposa dipende dallo stato e dal tipo di provider.",
    },
  },
  refusalHelp: "Per un rifiuto questo non conta: riposa chi riposa di solito.",
  reasonHelp: {
    quota_exhausted: "Non resta nulla di ciò che l'account può usare.",
    rate_limit_exceeded: "Troppe richieste in poco tempo.",
    model_capacity: "Il provider ora non ha posto per questo modello.",
    server_error: "Il provider ha un problema suo.",
    auth_error: "La chiave o l'accesso non è accettato. Con lo stato 401 resta fuori finché non lo rinnovi.",
    forbidden: "L'account non può farlo.",
    not_found: "Lì il modello non esiste; un combo prosegue con il passo seguente.",
    unknown: "Decide lo stato da solo: un 403 è un rifiuto, il resto un problema del provider.",
  },
  asUsual: "come al solito",
  notAtAll: "per niente",
  heldTo: (span) => `limitato a ${span}`,
  addTitle: "Nuova regola",
  editTitle: (rule) => `Regola ${rule}`,
  condition: "Quando",
  consequence: "Allora",
  provider: "Provider",
  pickProvider: "Scegli un provider",
  searchProvider: "Cerca o scrivi l'id di un provider",
  noProvider: "Nessun provider noto. Scrivine l'id.",
  inUse: "In uso",
  others: "Tutti gli altri",
  status: "Stato",
  match: "L'errore dice",
  matchHelp: "Una parte del suo testo; maiuscole e minuscole sono uguali.",
  scope: "Riposa",
  reason: "Vale come",
  rest: "Per",
  restPlaceholder: "come al solito",
  restHelp: (ceiling) =>
    `Per esempio 90 s, 10 min o 6 h; vuoto è come al solito. Altri errori la raddoppiano, fino a ${ceiling}. Un tempo indicato dal provider stesso può avere la precedenza.`,
  restHeld: (ceiling) => `Un riposo non annunciato dal provider dura al massimo ${ceiling}.`,
  restCeiling: "Cambialo",
  problems: {
    status: (lowest, highest) => `Uno stato da ${lowest} a ${highest}.`,
    match: "Un po' del testo dell'errore.",
    scope: "Il gateway non conosce questo ambito.",
    reason: "Il gateway non conosce questo significato.",
    cooldownMs: (longest) => `Una durata come 90 s o 6 h, al massimo ${longest}.`,
  },
  recent: {
    title: (provider) => `Ultimi errori di ${provider}`,
    help: "Scegline uno da cui partire.",
    none: (provider) => `Non c'è alcun errore di ${provider} su cui provare la regola.`,
    fits: (n, of) => (n === 0 ? "La regola non corrisponde a nessuno." : `La regola corrisponde a ${n} su ${of}.`),
    fitting: "La regola corrisponde",
  },
  create: "Aggiungi regola",
  save: "Salva",
  saved: (provider) => `Regola di ${provider} salvata. Il prossimo errore viene letto così.`,
  delete: "Elimina",
  deleted: (rule) => `${rule}: regola eliminata`,
  restored: (rule) => `${rule}: regola tornata`,
  allDeleted: "Le tue regole sono state tolte",
  allRestored: "Le tue regole sono tornate",
  notFound: "Questa regola non esiste più",
};
