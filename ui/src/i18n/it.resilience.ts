/** Italian words of what spares, locks and explains. */
import type { Messages } from "./en";
import { counter } from "./plural";

const count = counter("it");

export const resilience: Messages["resilience"] = {
  title: "Resilienza",
  help: "Che cosa OmniRoute risparmia dopo un errore, e per quanto. Una modifica vale dalla richiesta successiva.",
  perClass: "Impostazione",
  cooldown: {
    title: "Pausa delle connessioni",
    help: "Un account riposa dopo un errore. Gli altri continuano.",
  },
  breaker: {
    title: "Interruttore del provider",
    help: "Ferma tutto il traffico verso un provider che non funziona, finché una sola richiesta lo ritrova in salute.",
  },
  waiting: {
    title: "Attesa",
    help: "Una richiesta i cui account riposano tutti aspetta il primo che torna, invece di fallire subito.",
  },
  stall: { title: "Flussi fermi" },
  slow: {
    title: "Flussi lenti",
    help: "Un flusso che continua senza dire quasi nulla finisce con un errore, così l'agente può riprovare. Pensieri e chiamate di strumenti contano come lavoro.",
  },
  providerCooldown: {
    title: "Pausa dei provider",
    help: "I combo saltano ciò che è appena fallito in un'altra richiesta. Le richieste dirette non ne tengono conto.",
    windows: "Quando un provider riposa del tutto",
  },
  bans: {
    title: "Account esclusi",
    help: "I provider dicono a modo loro che hanno chiuso un account. Le frasi più comuni sono già note.",
    warningTitle: "Una sola parola troppo generica può mettere fuori uso account sani, per sempre.",
    warning:
      "Ogni errore che contiene la frase segna la sua connessione come esclusa, e solo una persona la riporta in uso. Prova una frase prima di aggiungerla.",
    phrases: "Le tue frasi",
    noPhrases: "Nessuna. Le frasi note si cercano sempre.",
    phrase: "Frase",
    phrasePlaceholder: "account has been closed",
    add: "Aggiungi frase",
    remove: (phrase) => `Togli «${phrase}»`,
    duplicate: "È già nell'elenco.",
    noMatch: "Nessun errore registrato la contiene.",
    wouldBan: (n) =>
      `${count(n, "connessione sarebbe stata esclusa", "connessioni sarebbero state escluse")} per l'ultimo errore:`,
    inRequests: (n) => `Si trova in ${count(n, "errore", "errori")} delle ultime richieste:`,
    checking: "Ricerca tra gli errori registrati…",
    tryIt: "Scrivi una frase per vedere quali errori registrati la contengono.",
  },
  fields: {
    "connectionCooldown.baseCooldownMs": {
      label: "Prima pausa",
      help: "Raddoppia a ogni nuovo errore. 0 non si ferma mai.",
    },
    "connectionCooldown.useUpstreamRetryHints": {
      label: "Segui le attese annunciate",
      help: "L'attesa indicata dal provider sostituisce il raddoppio.",
    },
    "connectionCooldown.useUpstream429BreakerHints": {
      label: "I limiti tengono l'interruttore",
      help: "Un interruttore aperto da limiti di frequenza attende quanto loro. Automatico: per i provider cloud.",
    },
    "connectionCooldown.maxBackoffSteps": {
      label: "Raddoppi al massimo",
      help: "0 lascia ogni pausa come la prima.",
      unit: "volte",
    },
    "providerBreaker.failureThreshold": {
      label: "Si ferma dopo",
      help: "Errori dopo i quali il traffico si ferma.",
      unit: "errori",
    },
    "providerBreaker.degradationThreshold": {
      label: "Instabile dopo",
      help: "Errori dopo i quali risulta instabile; il traffico continua.",
      unit: "errori",
    },
    "providerBreaker.resetTimeoutMs": {
      label: "Riprova dopo",
      help: "Allora passa una sola richiesta, per vedere se sta bene.",
    },
    "providerBreaker.maxBackoffMultiplier": {
      label: "Attesa più lunga",
      help: "Quante volte le prove fallite possono allungare l'attesa qui sopra.",
      unit: "volte",
    },
    "providerBreaker.backoffEscalationCount": {
      label: "Raddoppia dopo",
      help: "Prove fallite dopo le quali l'attesa comincia a raddoppiare.",
      unit: "prove",
    },
    "waitForCooldown.enabled": {
      label: "Aspetta gli account in pausa",
      help: "Da spento, l'agente lo sa subito, con il tempo dopo cui tornare.",
    },
    "waitForCooldown.maxRetries": {
      label: "Attese al massimo",
      help: "Per una richiesta.",
      unit: "volte",
    },
    "waitForCooldown.maxRetryWaitSec": {
      label: "Attesa più lunga",
      help: "Una pausa più lunga non si aspetta. Tutte le attese di una richiesta insieme: al massimo 5 min.",
      unit: "s",
    },
    "streamStallCooldown.enabled": {
      label: "Metti in pausa un account il cui flusso si ferma",
      help: "Un flusso aperto ma senza testo conta come errore. Se è spento, viene solo annotato.",
    },
    "streamRecovery.throughputWatchdog.enabled": { label: "Abbandona i flussi lenti" },
    "streamRecovery.throughputWatchdog.warmupMs": {
      label: "All'inizio non si giudica",
      help: "Contato dall'inizio del flusso.",
    },
    "streamRecovery.throughputWatchdog.windowMs": { label: "Contato su", help: "Il testo dell'ultimo tratto." },
    "streamRecovery.throughputWatchdog.minUsefulBytesPerSecond": {
      label: "Troppo lento è meno di",
      unit: "byte/s",
    },
    "streamRecovery.throughputWatchdog.minUsefulBytes": {
      label: "Si giudica da",
      help: "Con meno testo di così è lasciato in pace, a meno che non ce ne sia affatto.",
    },
    "providerCooldown.enabled": {
      label: "Salta ciò che è appena fallito",
      help: "Ricorda gli errori da una richiesta all'altra, per i combo.",
    },
    "providerCooldown.minRetryCooldownMs": {
      label: "Prima pausa di un account",
      help: "Raddoppia a ogni nuovo errore. 0 non si ferma mai.",
    },
    "providerCooldown.maxRetryCooldownMs": {
      label: "Pausa più lunga di un account",
      help: "Mai più breve della prima.",
    },
    "providerCooldown.failureThreshold": {
      label: "Riposa dopo",
      help: "Errori nel tempo indicato qui sotto.",
      unit: "errori",
    },
    "providerCooldown.failureWindowMs": { label: "Gli errori contano per", help: "I più vecchi si dimenticano." },
    "providerCooldown.cooldownMs": { label: "Riposa per", help: "A partire dall'ultimo errore." },
    customBannedSignals: { label: "Le tue frasi", help: "Si aggiungono a quelle note." },
    autoDisableBannedAccounts: {
      label: "Spegni gli account esclusi",
      help: "Altrimenti restano in elenco, segnati come esclusi. In ogni caso non ricevono nulla.",
    },
    "modelLockout.enabled": {
      label: "Blocca modelli di ogni provider",
      help: "Se è spento, lo fanno solo i provider con una quota per modello.",
    },
    "modelLockout.errorCodes": { label: "Codici che bloccano", help: "Ciò che il provider risponde." },
    "modelLockout.baseCooldownMs": { label: "Primo blocco", help: "Raddoppia a ogni nuovo errore." },
    "modelLockout.maxCooldownMs": {
      label: "Blocco più lungo",
      help: "Un'attesa indicata dal provider può superarlo.",
    },
    "modelLockout.maxBackoffSteps": {
      label: "Raddoppi al massimo",
      help: "0 lascia ogni blocco come il primo.",
      unit: "volte",
    },
    "modelLockout.useExponentialBackoff": {
      label: "Raddoppia a ogni errore",
      help: "Se è spento, ogni blocco è come il primo.",
    },
    "modelLockout.persist": {
      label: "Conserva dopo un riavvio",
      help: "I blocchi ancora in corso si ritrovano alla ripartenza.",
    },
  },
  fieldProblems: {
    "providerBreaker.degradationThreshold": "Deve essere inferiore agli errori che lo fermano.",
    "providerBreaker.failureThreshold": "Deve superare gli errori che lo rallentano.",
    "providerCooldown.minRetryCooldownMs": "Non può superare la pausa più lunga.",
    "providerCooldown.maxRetryCooldownMs": "Non può essere più breve della prima pausa.",
    "modelLockout.baseCooldownMs": "Non può superare il blocco più lungo.",
    "modelLockout.maxCooldownMs": "Non può essere più breve del primo blocco.",
    customBannedSignals: "Una frase ha al massimo 200 caratteri.",
  },
  lockReasons: {
    rate_limit: "Limite di frequenza",
    rate_limited: "Limite di frequenza",
    rate_limit_exceeded: "Limite di frequenza",
    quota_exhausted: "Quota esaurita",
    not_found: "Modello inesistente",
    forbidden: "Non permesso",
    server_error: "Errore del provider",
    model_capacity: "Capacità esaurita",
    auth_error: "Accesso rifiutato",
    unknown: "Fallito",
  },
  errorTypes: {
    rate_limited: "Limite di frequenza",
    unauthorized: "Accesso rifiutato",
    account_deactivated: "Account chiuso",
    forbidden: "Non permesso",
    server_error: "Errore del provider",
    quota_exhausted: "Quota esaurita",
    project_route_error: "Progetto irraggiungibile",
    context_overflow: "Richiesta troppo lunga",
    oauth_invalid_token: "Accesso scaduto",
    empty_content: "Risposta vuota",
    model_not_found: "Modello inesistente",
    fingerprint_rejection: "Client rifiutato",
    request_rejected: "Richiesta rifiutata",
  },
  breakerStates: {
    CLOSED: "Funziona",
    DEGRADED: "Instabile",
    OPEN: "Fermo",
    HALF_OPEN: "In prova",
  },
  breakerHelp: {
    CLOSED: "interruttore CLOSED: le richieste passano",
    DEGRADED: "interruttore DEGRADED: gli errori si sommano, le richieste passano ancora",
    OPEN: "interruttore OPEN: nessuna richiesta passa fino alla prossima prova",
    HALF_OPEN: "interruttore HALF_OPEN: passa una sola richiesta di prova",
  },
  reset: "Ripristina interruttore",
  explain: "Spiega un modello",
};

export const modelCooldowns: Messages["modelCooldowns"] = {
  title: "Modelli in pausa",
  help: "Modelli che riposano su un account mentre l'account continua. Ognuno torna da sé.",
  filter: "Filtra i modelli",
  emptyTitle: "Nessun modello è in pausa",
  emptyHelp:
    "Quando un provider limita un modello di un account, quel modello riposa qui finché il limite finisce; gli altri modelli dell'account continuano.",
  lockoutSettings: "Impostazioni dei blocchi",
  columns: {
    model: "Modello",
    connection: "Connessione",
    provider: "Provider",
    reason: "Motivo",
    failures: "Errori",
    back: "Torna",
  },
  scopes: {
    family: "tutti i modelli che condividono questa quota",
    model: "questo modello",
    exact: "esattamente questo nome",
  },
  since: (time) => `in pausa dalle ${time}`,
  probe: (time) => `alle ${time} passa una richiesta, per vedere se è finita prima`,
  select: (model, connection) => `Seleziona ${model} su ${connection}`,
  enable: "Riattiva",
  enableOne: (model, connection) => `Riattiva ${model} su ${connection}`,
  enableSelected: (n) => (n === 1 ? "Riattiva il selezionato" : `Riattiva i ${n} selezionati`),
  enableAll: "Riattiva tutti",
  enableAllTitle: "Riattivare tutti i modelli?",
  enableAllHelp:
    "Le prossime richieste li provano subito. Quelli ancora limitati falliscono una volta e tornano in pausa.",
  enabled: (n) => (n === 1 ? "Il modello è di nuovo in uso" : `${n} modelli sono di nuovo in uso`),
};

export const modelLockout: Messages["modelLockout"] = {
  title: "Blocco dei modelli",
  help: "Quando un modello riposa su un account benché l'account stia bene.",
  rule: "Che cosa blocca, e per quanto",
  ladder: "Come cresce un blocco",
  ladderHelp: "Un errore dopo l'altro, senza un successo in mezzo.",
  failure: (n) => `Errore ${n}`,
  further: "e così via",
  restingNow: "Modelli ora in pausa",
};

export const cooldowns: Messages["cooldowns"] = {
  title: "Gestione delle pause",
  help: "Ogni connessione fuori rotazione, perché, e per quanto.",
  filter: "Filtra le connessioni",
  provider: "Provider",
  anyProvider: "Tutti i provider",
  status: "Stato",
  statuses: {
    out: "Fuori rotazione",
    cooling_down: "In pausa",
    model_locked: "Modelli bloccati",
    terminal: "Serve una persona",
    unavailable: "Fallite o spente",
    healthy: "In salute",
  },
  lockedModels: (n) => count(n, "modello bloccato", "modelli bloccati"),
  columns: {
    connection: "Connessione",
    status: "Stato",
    backoff: "Livello",
    lastError: "Ultimo errore",
    locks: "Blocchi",
  },
  backoffHelp: (level) =>
    level === 0 ? "il prossimo errore vale la prima pausa" : `la pausa è raddoppiata ${count(level, "volta", "volte")}`,
  emptyTitle: "Tutte le connessioni sono in rotazione",
  emptyHelp:
    "Una connessione che fallisce riposa per un po' e torna da sé. Fino ad allora è elencata qui, con il motivo e il tempo.",
  noneTitle: "Nessuna connessione corrisponde",
  noneHelp: "Al momento niente è in questo stato.",
  noConnections: "Ancora nessuna connessione",
  noConnectionsHelp: "Collega prima un provider; poi qui si vede che cosa gli succede.",
  showOut: "Mostra ciò che è fuori rotazione",
  select: (name) => `Seleziona ${name}`,
  clear: "Libera",
  clearOne: (name) => `Libera ${name}`,
  repair: "Ripara",
  repairOne: (name) => `Ripara ${name}`,
  terminalHelp: "Nessun timer la riporta: dalle una nuova chiave, o provala, nella sua pagina.",
  clearSelected: (n) => (n === 1 ? "Libera la selezionata" : `Libera le ${n} selezionate`),
  clearAll: "Libera tutte",
  clearProvider: (provider) => `Libera tutte di ${provider}`,
  nothingToClear: "Qui nulla è in attesa. Ciò che richiede una persona si ripara uno per uno.",
  clearAllTitle: "Togliere tutte le pause e i blocchi?",
  clearProviderTitle: (provider) => `Togliere tutte le pause e i blocchi di ${provider}?`,
  clearAllHelp:
    "Le prossime richieste provano subito queste connessioni. Quelle ancora limitate falliscono una volta e tornano in pausa. Ciò che richiede una persona resta com'è.",
  cleared: (connections, locks) =>
    [
      connections > 0 && count(connections, "connessione è tornata", "connessioni sono tornate"),
      locks > 0 && count(locks, "blocco tolto", "blocchi tolti"),
    ]
      .filter(Boolean)
      .join(", ") || "Non c'era niente da togliere",
  skipped: (n) =>
    n === 1 ? "1 richiede una persona ed è rimasta com'era" : `${n} richiedono una persona e sono rimaste com'erano`,
  rules: "Regole comuni",
  rulesHelp: "Le impostazioni che servono quando qualcosa riposa troppo o troppo poco.",
  allRules: "Tutte le impostazioni di resilienza",
};

export const health: Messages["health"] = {
  title: "Salute",
  well: (n) => (n === 1 ? "L'unico provider in uso funziona." : `Sono in uso ${n} provider, e funzionano tutti.`),
  stopped: (names, n) => (n === 1 ? `${names} è fermo.` : `${names} sono fermi.`),
  retried: (names, n) => `${names} ${n === 1 ? "viene riprovato" : "vengono riprovati"}.`,
  shaky: (names, n) => (n === 1 ? `${names} fallisce ogni tanto.` : `${names} falliscono ogni tanto.`),
  providers: "Provider",
  providersHelp:
    "Ogni provider ha un interruttore: gli errori si sommano, e quando sono troppi il traffico si ferma per un po'.",
  emptyTitle: "Nessun provider è ancora stato interrogato",
  emptyHelp:
    "Dopo la prima richiesta ogni provider compare qui, con lo stato del suo interruttore e la sua ultima ora.",
  columns: {
    provider: "Provider",
    state: "Stato",
    failures: "Errori",
    history: "Ultima ora",
    next: "Prossima prova",
  },
  failures: (n, of) => `${n} su ${of}`,
  failuresHelp: (degraded, open) => `instabile da ${degraded}, fermo a ${open}`,
  lastFailure: (time) => `ultimo errore ${time}`,
  probing: "in corso",
  due: "con la prossima richiesta",
  ago: (minutes) => `${minutes} min fa`,
  now: "ora",
  ribbon: (provider, parts) => `${provider} nell'ultima ora: ${parts}`,
  ribbonPart: (state, from, to) => `${state} dalle ${from} alle ${to}`,
  reset: "Ripristina",
  resetOne: (provider) => `Ripristina l'interruttore di ${provider}`,
  resetAll: "Ripristina tutti",
  resetAllTitle: "Ripristinare tutti gli interruttori?",
  resetAllHelp:
    "Il traffico riparte subito, anche verso provider ancora fermi. Si tolgono anche i blocchi dei modelli.",
  wasReset: (provider) => `${provider} viene riprovato`,
  allReset: (n) => count(n, "interruttore ripristinato", "interruttori ripristinati"),

  panel: {
    subtitle: "Interruttore",
    history: "Che cosa è successo",
    none: "Ancora niente: il suo stato non è mai cambiato.",
    notFound: "Questo provider non ha ancora un interruttore",
    notFoundHelp: "Lo avrà con la sua prima richiesta.",
    cycles: "Prove fallite",
    threshold: "Soglie",
    change: "Cambia",
    next: "Prossima prova",
    lastFailure: "Ultimo errore",
    failures: "Errori",
    openProvider: "Apri il provider",
    failuresThen: (n) => count(n, "errore", "errori"),
    reasons: {
      "elevated-failures": "Gli errori si sono sommati",
      kind: "Troppi errori",
      "threshold-reached": "Troppi errori",
      "probe-failed": "La prova è fallita",
      "probe-success": "La prova è riuscita",
      "timeout-elapsed": "L'attesa è finita",
      recovery: "Gli errori sono tornati rari",
      "success-recovery": "Gli errori sono tornati rari",
      "manual-reset": "Ripristinato a mano",
    },
  },

  system: "Sistema",
  gateway: "Gateway",
  gatewayWell: "Attivo",
  gatewayDegraded: "Non riesce a scrivere nel suo database",
  version: "Versione",
  uptime: "Attivo da",
  process: "Processo",
  processOf: (pid, platform) => `${pid} su ${platform}`,
  connections: "Connessioni",
  connectionsOf: (ready, total) => (ready === 1 ? `1 pronta su ${total}` : `${ready} pronte su ${total}`),
  failing: (n) => `${n} in errore`,
  off: (n) => (n === 1 ? "1 spenta" : `${n} spente`),
  memory: "Memoria",
  log: "Registro delle richieste",
  logComplete: "completo",
  logDropped: (n) => count(n, "voce persa", "voci perse"),
};

export const explain: Messages["explain"] = {
  title: "Spiegazione",
  help: "Chi verrebbe interpellato per un modello in questo momento, e perché non gli altri.",
  model: "Modello",
  pick: "Scegli o scrivi un modello",
  startTitle: "Quale modello?",
  startHelp:
    "Scegli il nome che chiede un agente. Ogni connessione che potrebbe servirlo è elencata nell'ordine in cui verrebbe interpellata, con ciò che la trattiene e fino a quando.",
  noCandidatesTitle: "Nessuno offre questo modello",
  noCandidatesHelp: "Controlla com'è scritto, scrivilo come provider/modello, o collega il provider che lo offre.",
  symptomsTitle: "Che cosa potresti vedere",
  symptoms: {
    allKeys: {
      seen: "Tutte le chiavi di un provider vengono saltate",
      means: "O è fermo il provider stesso, o riposa ognuna delle sue connessioni. Le due schermate dicono quale.",
    },
    stillOut: {
      seen: "Un provider resta fuori anche se l'attesa è finita",
      means: "Aspetta una richiesta con cui provarlo. Lo farà la prossima.",
    },
    oneKey: {
      seen: "Una chiave fallisce, le altre dovrebbero continuare",
      means: "È la pausa di quella connessione, e non riguarda il provider.",
    },
    oneModel: {
      seen: "Un modello fallisce, l'account sta bene",
      means: "Quel modello è bloccato solo su quell'account.",
    },
    notBack: {
      seen: "Qualcosa dovrebbe tornare da sé, ma non torna",
      means:
        "La sua fine è ancora lontana, o serve una persona: solo una nuova chiave, una prova o un ripristino aiutano.",
    },
  },
  first: "Interrogata per prima",
  next: (n) =>
    `Interrogata per ${n === 2 ? "seconda" : n === 3 ? "terza" : `numero ${n}`}, se le precedenti falliscono`,
  answer: {
    first: (name, provider) => `La prima interpellata sarebbe ${name}, di ${provider}.`,
    none: "In questo momento non si potrebbe interpellare nessuno.",
    noneUntil: (time) => `In questo momento non si potrebbe interpellare nessuno; la prima torna ${time}.`,
    refused: (status) => `Un agente riceverebbe ${status}.`,
    refusedUntil: (status, time) => `Un agente riceverebbe ${status}, con l'invito a riprovare ${time}.`,
  },
  candidates: "Connessioni",
  resolved: "Corrisponde a",
  resolvedBy: "Risolto da",
  breaker: "Provider",
  available: "Disponibile",
  causeAt: (status, time) => `${status} ${time}`.trim(),
  openConnection: "Apri",
  openNamed: (name) => `Apri ${name}`,
  link: "Perché non ora?",
};

export const connectionHealth: Messages["connectionHealth"] = {
  title: "Salute",
  level: "Livello di pausa",
  levelHelp: "quante volte la pausa è raddoppiata",
  lastError: "Ultimo errore",
  otherError: "Un altro errore",
  stillAsked: "L'ultima richiesta non è riuscita. Al suo turno viene interrogata di nuovo.",
  breaker: "Provider",
  allLocks: (n) => `Tutti i ${n} modelli bloccati`,
  locks: "Modelli bloccati",
  clear: "Togli la pausa",
  explain: "Chi verrebbe interpellato per il suo modello predefinito?",
};
