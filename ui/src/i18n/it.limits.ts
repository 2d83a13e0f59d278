/** Italian words of what an account may be given at once and in a row, and of what is left of it. */
import type { Messages } from "./en";
import { counter } from "./plural";

const count = counter("it");

export const limits: Messages["limits"] = {
  comboWaiting: {
    title: "Attesa dei combo",
    help: "Un combo le cui destinazioni sono tutte in pausa per poco aspetta la prima che torna, invece di fallire subito.",
  },
  queue: {
    title: "Coda delle richieste",
    help: "Dosa ciò che un account riceve. Agisce prima dell'invio e non conta mai come errore.",
  },
  quotaShare: {
    title: "Quote condivise",
    help: "Combo che dividono la quota dei loro account tra più chiavi.",
  },
  preflight: {
    title: "Quota prima dell'invio",
    help: "Si basa su ciò che i provider annunciano. Una quota mai annunciata non esclude nessuno.",
    thresholdExample: "claude/weekly = 5",
    thresholdForm: "provider/finestra = percentuale",
  },
  connection: {
    protection: "Protezione dai limiti",
    protectionHelp: "La dosa con i numeri della coda delle richieste, e con quelli qui sotto dove ci sono.",
    overrides: "I suoi numeri",
    overridesHelp: "Ognuno le dà una coda propria. Vuoto: senza limite, o come dicono le impostazioni.",
    byModel: "Nello stesso momento, per modello",
    byModelHelp: "Una riga ciascuno: modello = richieste. Il modello come lo chiama il provider; le altre aspettano.",
    byModelForm: "modello = richieste",
    byModelExample: "glm-5 = 1",
  },
  lines: {
    form: (line, form) => `Riga ${line}: scrivi ${form}.`,
    range: (line, min, max) => `Riga ${line}: dev'essere un numero intero da ${min} a ${max}.`,
    twice: (line, name) => `Riga ${line}: ${name} c'è già.`,
  },
  fields: {
    "comboCooldownWait.enabled": {
      label: "Aspetta le destinazioni in pausa",
      help: "Da spento, l'agente lo sa subito, con il tempo dopo cui tornare.",
    },
    "comboCooldownWait.maxWaitMs": {
      label: "Attesa più lunga di un combo",
      help: "Una pausa più lunga non si aspetta.",
    },
    "comboCooldownWait.maxAttempts": {
      label: "Attese di un combo al massimo",
      help: "Per una richiesta. 0 non aspetta mai.",
      unit: "volte",
    },
    "comboCooldownWait.budgetMs": {
      label: "Tutte le attese di un combo insieme",
      help: "Per una richiesta. Mai meno della più lunga.",
    },
    "requestQueue.autoEnableApiKeyProviders": {
      label: "Dosa ogni account con chiave",
      help: "Se è spento, ha una coda solo chi la chiede o il cui provider ha annunciato i suoi limiti.",
    },
    "requestQueue.requestsPerMinute": { label: "In un minuto", help: "Per un account.", unit: "richieste" },
    "requestQueue.minTimeBetweenRequestsMs": {
      label: "Da una richiesta alla successiva",
      help: "Tempo minimo, per un account.",
    },
    "requestQueue.concurrentRequests": {
      label: "Nello stesso momento",
      help: "Per un account. Le altre aspettano il loro turno.",
      unit: "richieste",
    },
    "requestQueue.globalConcurrentRequests": {
      label: "Nello stesso momento in tutto",
      help: "Per tutti gli account. 0 è senza limite.",
      unit: "richieste",
    },
    "requestQueue.maxWaitMs": {
      label: "Attesa più lunga del turno",
      help: "Poi l'agente lo viene a sapere; la sua richiesta non è mai partita.",
    },
    "requestQueue.executionMaxWaitMs": {
      label: "Esecuzione più lunga",
      help: "A partire dall'invio. Se un provider può metterci di più a cominciare la risposta, vale quello.",
    },
    "requestQueue.maxQueueDepth": {
      label: "In attesa al massimo",
      help: "Per un account. Le altre sono respinte subito. 0 è senza limite.",
      unit: "richieste",
    },
    "quotaShareConcurrencyLimit.enabled": {
      label: "Rispetta il limite di ogni connessione",
      help: "Se una connessione limita le richieste simultanee, si aspettano a vicenda. Nessuna viene respinta per questo.",
    },
    "quotaPreflight.enabled": {
      label: "Escludi gli account quasi esauriti",
      help: "Se è spento, un account si usa finché il suo provider rifiuta.",
    },
    "quotaPreflight.defaultThresholdPercent": {
      label: "Da tenere",
      help: "Se di una finestra non resta di più, l'account è escluso finché la finestra ricomincia.",
      unit: "%",
    },
    "quotaPreflight.warnThresholdPercent": {
      label: "Avviso da",
      help: "Se non resta di più, l'account risulta quasi esaurito.",
      unit: "%",
    },
    "quotaPreflight.providerWindowDefaults": {
      label: "Da tenere, per provider",
      help: "Una riga ciascuno: provider/finestra = percentuale. Per tutto il resto vale quanto sopra.",
    },
    "connection.rpm": { label: "In un minuto", unit: "richieste" },
    "connection.minTime": { label: "Da una alla successiva", help: "Tempo minimo tra due richieste." },
    "connection.tpm": { label: "Token in un minuto", unit: "token" },
    "connection.tpd": { label: "Token in un giorno", unit: "token" },
    "connection.maxWaitMs": { label: "Attesa più lunga del turno" },
    "connection.executionMaxWaitMs": { label: "Esecuzione più lunga", help: "A partire dall'invio." },
  },
  fieldProblems: {
    "comboCooldownWait.maxWaitMs": "Non può superare tutte le attese insieme.",
    "comboCooldownWait.budgetMs": "Non può essere inferiore all'attesa più lunga.",
  },
};

export const quota: Messages["quota"] = {
  title: "Quota",
  help: "Quanto resta di ogni account, per quel che ne dice il suo provider.",
  refresh: "Aggiorna",
  refreshing: "Richiesta in corso…",
  refreshHelp: "Chiede a ogni provider che si può interpellare, per ogni account al massimo una volta al minuto",
  refreshNone: "Nessuno di questi provider si può interpellare; vale ciò che annunciano le loro risposte",
  emptyTitle: "Ancora nessun account da guardare",
  emptyHelp:
    "Quando un provider è collegato, qui si vede la quota del suo account: quanto è usato, e quando ricomincia.",
  standings: { usedUp: "Esaurita", low: "Quasi esaurita", enough: "Ne resta abbastanza", unknown: "Sconosciuta" },
  sources: {
    endpoint: "Chiesta al provider",
    headers: "Annunciata dalle sue risposte",
    learned: "Appresa dai rifiuti",
    manual: "Inserita a mano",
  },
  windows: {
    session: "5 ore",
    daily: "Giorno",
    weekly: "Settimana",
    monthly: "Mese",
    requests: "Richieste",
    tokens: "Token",
  },
  weekOf: (model) => `Settimana, ${model}`,
  meter: (window, account) => `${window} di ${account}`,
  used: (percent) => `usato ${percent}`,
  unknown: "non si sa",
  resets: {
    in: (time) => `ricomincia tra ${time}`,
    at: (time) => `ricomincia alle ${time}`,
    on: (time) => `ricomincia il ${time}`,
  },
  left: (amount) => `restano ${amount}`,
  leftOf: (amount, total) => `restano ${amount} di ${total}`,
  unasked: {
    title: "Non ancora interpellati",
    help: "I loro provider dicono quanto resta quando li si interpella: premi Aggiorna.",
  },
  silent: {
    title: "Ancora nulla di noto",
    help: "I loro provider non si possono interpellare, e le risposte finora non hanno annunciato nulla.",
  },
  moreAccounts: (n) => (n === 1 ? "e un'altra" : `e altre ${n}`),
  inVain: "Chiesta al provider, senza esito.",
  course: {
    title: "Andamento",
    span: "Fin dove indietro",
    spans: { day: "24 ore", week: "7 giorni", twoWeeks: "14 giorni" },
    none: "In questo periodo non è stato annunciato nulla.",
    resets: (n) => (n === 0 ? "mai ricominciata" : `ricominciata ${count(n, "volta", "volte")}`),
    plot: ({ window, account, since, lowest, highest, now, resets }) =>
      `${window} di ${account} dal ${since}: usata tra ${lowest} e ${highest}, ora ${now}, ${resets}`,
  },
};
