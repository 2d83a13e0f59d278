/** Italian words of the request log and of the story of one request. */
import type { Messages } from "./en";
import { counter } from "./plural";

const count = counter("it");

export const requests: Messages["requests"] = {
  title: "Richieste",
  filter: "Filtra le richieste",
  filterHelp: "Modello, connessione, chiave, agente o errore",
  outcome: "Esito",
  anyOutcome: "Tutti gli esiti",
  provider: "Provider",
  anyProvider: "Tutti i provider",
  clearFilters: "Togli i filtri",
  columns: {
    time: "Ora",
    agent: "Agente",
    model: "Modello",
    connection: "Connessione",
    status: "Esito",
    firstToken: "Primo token",
    duration: "Durata",
    tokens: "Token",
  },
  inFlight: (n) => `${n} in corso`,
  newRows: (n) => count(n, "nuova richiesta", "nuove richieste"),
  attempts: (n) => count(n, "tentativo", "tentativi"),
  older: "Mostra richieste precedenti",
  loadingOlder: "Lettura delle richieste precedenti…",
  servedAs: (asked, served) => `chiesto ${asked}, servito da ${served}`,
  nobody: "nessuno interpellato",
  unknownAgent: "Agente sconosciuto",
  emptyTitle: "Non è ancora arrivata nessuna richiesta",
  emptyHelp:
    "Ogni richiesta dei tuoi agenti è una riga: che cosa ha chiesto, chi ha risposto, quanto tempo e quanti token ha preso. Domande e risposte non vengono conservate.",
  noneFoundTitle: "Nessuna richiesta corrisponde",
  noneFoundHelp: "Nel registro non c'è nulla che passi questi filtri.",
  deleteLog: "Elimina il registro",
  deleteTitle: "Eliminare tutto il registro delle richieste?",
  deleteHelp: "Ogni riga e la sua storia vanno perse per sempre. I consumi restano conteggiati.",
  deleted: (n) =>
    n === 1 ? "1 richiesta eliminata dal registro" : `${count(n, "richiesta", "richieste")} eliminate dal registro`,

  story: {
    title: "Richiesta",
    notFound: "Questa richiesta non è più nel registro",
    notFoundHelp: "È stata eliminata, oppure è più vecchia di quanto il registro conservi.",
    answered: (agent, model, connection, duration) =>
      `${agent} ha chiesto ${model}; ${connection} ha risposto in ${duration}.`,
    answeredAfter: (agent, model, connection, duration, failed) =>
      `${agent} ha chiesto ${model}; ${connection} ha risposto dopo ${count(failed, "tentativo fallito", "tentativi falliti")}, in tutto ${duration}.`,
    failed: (agent, model, attempts) =>
      `${agent} ha chiesto ${model}. ${attempts === 1 ? "L'unico tentativo è fallito" : attempts === 2 ? "Entrambi i tentativi sono falliti" : `Tutti i ${attempts} tentativi sono falliti`}.`,
    refused: (agent, model) => `${agent} ha chiesto ${model}. Nessun provider è stato interpellato.`,
    aborted: (agent, model, duration) =>
      `${agent} ha chiesto ${model} e se n'è andato dopo ${duration}, prima che la risposta fosse completa.`,
    abortedBefore: (agent, model, duration) =>
      `${agent} ha chiesto ${model} e se n'è andato dopo ${duration}, prima che la risposta cominciasse.`,

    route: "Percorso",
    asked: "Modello chiesto",
    resolvedBy: "Deciso da",
    served: "Servito da",
    lastTried: "Ultimo provato",
    connection: "Connessione",
    key: "Chiave",
    format: "Formato",
    streamed: "a flusso",
    whole: "in un pezzo solo",
    arrived: "Arrivata",
    firstToken: "Primo token",
    total: "Durata",
    rules: {
      1: "una combo con questo nome",
      2: "una combo, dal prefisso",
      3: "uno schema che porta a una combo",
      4: "scelta automatica",
      5: "una quota condivisa",
      6: "uno dei tuoi nomi di modello",
      7: "il provider davanti alla barra",
      8: "il provider collegato che offre questo modello",
    },
    ruleNone: "nessun modello noto qui",
    ruleTechnical: (n) => `regola ${n} della risoluzione dei nomi`,

    attemptsTitle: "Tentativi",
    axis: "Tempo dall'arrivo della richiesta",
    phases: {
      queued: "in coda",
      connecting: "connessione",
      waiting: "attesa del primo token",
      streaming: "flusso",
      receiving: "ricezione",
    },
    phase: (name, duration) => `${name} ${duration}`,
    succeeded: "Ha risposto",
    noAnswer: "Nessuna risposta",
    kinds: {
      success: "Ha risposto",
      auth: "La credenziale è stata rifiutata",
      quota_exhausted: "La quota o il credito dell'account è esaurito",
      rate_limit: "L'account ha raggiunto il limite di frequenza",
      model_not_found: "Il provider non conosce questo modello",
      server_error: "Il provider ha avuto un errore interno",
      overloaded: "Il provider è sovraccarico",
      unreachable: "Il provider non era raggiungibile",
      connection_reset: "La connessione si è interrotta prima della risposta",
      tls: "La connessione sicura non è riuscita",
      response_start_timeout: "La risposta non è cominciata in tempo",
      stream_idle_timeout: "Il flusso si è ammutolito",
      stream_cut: "Il flusso è finito troppo presto",
      empty_or_garbled: "La risposta era vuota o illeggibile",
      invalid_request: "Il provider ha rifiutato la richiesta stessa",
      client_aborted: "L'agente se n'è andato",
    },
    decisions: {
      answer: "La sua risposta è stata consegnata.",
      next_connection: "Si è passati alla connessione successiva.",
      last: "Non restava nessun'altra connessione da provare.",
      stop: "Ci si è fermati: un'altra connessione avrebbe detto lo stesso.",
      left: "Non c'era altro da fare.",
    },

    exclusionsTitle: "Escluse",
    mechanisms: {
      switched_off: "Spenta",
      key_allow_list: "Elenco di ciò che la chiave permette",
      excluded_model: "Modelli esclusi",
      credential_gate: "Credenziale mancante",
      request_exhaustion: "Già fallita in questa richiesta",
      concurrency_cap: "Limite di richieste contemporanee",
      dialect_mismatch: "Un altro formato",
    },
    reasons: {
      switched_off: "Qualcuno ha spento questa connessione.",
      key_allow_list: "La chiave presentata non può usare questa connessione.",
      excluded_model: "Il modello è tra quelli esclusi da questa connessione.",
      credential_gate: "Non è salvata nessuna chiave utilizzabile.",
      request_exhaustion: "Ha avuto la sua occasione un attimo prima ed è fallita.",
      concurrency_cap: "Erano già in corso tutte le richieste che ammette.",
      dialect_mismatch: "Il provider non parla il formato usato dall'agente.",
    },
    ends: {
      request_exhaustion: "La fine di questa richiesta",
      concurrency_cap: "Quando finisce una delle sue richieste",
    },
    openConnection: "Apri la connessione",
    openNamed: (name) => `Apri ${name}`,
    andMore: (n) => (n === 1 ? "e un'altra" : `e altre ${n}`),
    openKey: "Apri la chiave",
    openAgents: "Impostazioni per gli agenti",

    usage: "Consumo",
    tokens: (n) => `${n} token`,
    input: "In entrata",
    cacheRead: "letti dalla cache",
    cacheWrite: "scritti nella cache",
    output: "In uscita",
    reasoning: "di ragionamento",
    estimated: "stimati: il provider non li ha contati",
    cost: "Costo",
    noPrice: "prezzo non noto",
    noUsage: "Non è stato contato nulla.",

    warnings: "Modificato lungo la strada",
    changes: {
      BACKGROUND_DEGRADE: "«background» è stato tolto: la risposta è arrivata direttamente.",
    },

    ids: "Identificativi",
    requestId: "Richiesta",
    connectionId: "Connessione",
    keyId: "Chiave",
    session: "Sessione",
    code: "Codice di errore",
    said: "Nelle parole del gateway",

    copyCurl: "Copia come curl",
    curlHelp: "La tua chiave e la domanda non sono conservate: mettile tu.",
    curlPrompt: "Saluta.",
  },

  codes: {
    ALL_ACCOUNTS_INACTIVE: {
      title: "Tutte le connessioni a questo provider sono spente",
      help: "Accendine una, e la prossima richiesta la troverà.",
    },
    ALL_TARGETS_SKIPPED: {
      title: "Tutte le connessioni sono state escluse",
      help: "Qui sotto i motivi, ognuno con il suo rimedio.",
    },
    bad_gateway: {
      title: "Il provider non era utilizzabile",
      help: "Ogni tentativo qui sotto dice che cosa è successo.",
    },
    bad_request: {
      title: "La richiesta non era comprensibile",
      help: "L'agente ha mandato qualcosa che nessuno accetterebbe.",
    },
    client_closed_request: { title: "L'agente se n'è andato", help: "Ha chiuso la connessione; qui è tutto a posto." },
    dialect_not_supported: {
      title: "Il provider parla un altro formato rispetto all'agente",
      help: "Chiedi un modello di un provider che lo parla, o indica all'agente l'altro indirizzo.",
    },
    gateway_timeout: {
      title: "Nessuna risposta in tempo",
      help: "Il provider è rimasto in silenzio più del consentito. Di solito per domande lunghe o modelli locali ancora da caricare.",
    },
    internal_server_error: {
      title: "Il provider ha avuto un errore interno",
      help: "Qui non c'è nulla da correggere. Riprova tra poco, o chiedi un altro modello.",
    },
    model_not_found: {
      title: "Nessun modello con questo nome",
      help: "Controlla come è scritto, usa la forma provider/modello, o collega il provider che ce l'ha.",
    },
    no_executable_targets: {
      title: "Non c'è nessuna connessione a questo provider",
      help: "Aggiungine una, e la prossima richiesta la troverà.",
    },
    permission_denied: {
      title: "La chiave non lo permette",
      help: "Amplia ciò che la chiave può usare, o danne un'altra all'agente.",
    },
    rate_limit_exceeded: {
      title: "Il limite di frequenza è raggiunto",
      help: "Basta aspettare. Oppure un'altra connessione, che in questi momenti subentra.",
    },
    request_too_large: {
      title: "La richiesta è troppo grande",
      help: "L'agente ha mandato più di quanto il gateway accetti. Accorcia il contesto, o alza il limite.",
    },
    service_unavailable: {
      title: "Nessuno poteva prendere la richiesta",
      help: "Ogni tentativo e ogni esclusione qui sotto dicono perché.",
    },
    upstream_auth_failed: {
      title: "Il provider ha rifiutato la chiave salvata",
      help: "Sostituisci la chiave della connessione qui sotto.",
    },
    other: { title: "La richiesta è fallita", help: "Qui sotto, le parole del gateway." },
  },
};
