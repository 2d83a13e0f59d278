/** Italian words of how requests pass through. */
import type { Messages } from "./en";

export const traffic: Messages["traffic"] = {
  title: "Traffico",
  help: "Come le richieste raggiungono i provider, e quanto possono durare. Una modifica vale dalla richiesta successiva.",
  sections: {
    wayOut: { title: "Via d'uscita", help: "Per le connessioni senza un proxy proprio." },
    patience: { title: "Pazienza con i provider", help: "Quanto può durare ogni parte di una risposta." },
    signsOfLife: {
      title: "Segni di vita",
      help: "Se un provider tace, gli agenti rinunciano. Perciò la risposta si apre prima e resta viva; un errore successivo si legge al suo interno, non più dal codice di stato.",
    },
    promptCache: {
      title: "Cache dei prompt",
      help: "Quando la richiesta di un agente è tradotta in un altro formato. Una nel formato del provider non è toccata.",
    },
    tools: { title: "Strumenti", help: "Quando un provider non può prendere ciò che porta un agente." },
    bounds: { title: "Limiti del gateway", help: "Quanto gli agenti possono chiedergli." },
  },
  finding: {
    title: "Senza un nome completo",
    help: "Per le richieste che non nominano un modello, o un modello senza il suo provider.",
  },
  log: {
    title: "Registro delle richieste",
    help: "Chi ha chiesto a chi, quando, e come è finita.",
  },
  checks: {
    title: "Controlli tra una richiesta e l'altra",
    help: "Che cosa OmniRoute chiede ai provider anche senza richieste in corso. Non costa nulla.",
  },
  fields: {
    "network.proxyMode": { label: "Proxy", help: "La via verso tutti i provider." },
    "network.proxyUrl": {
      label: "Indirizzo del proxy",
      help: "Con http, https, socks5 o socks5h davanti, e utente:password@ se li chiede. La password non si mostra più e resta finché non cambi il resto. Si usa quando il proxy è il tuo.",
    },
    "network.egressCheckUrl": {
      label: "Servizio che dice il tuo indirizzo",
      help: "Per i provider che contano le quote gratuite per indirizzo. Vuoto: non si chiede a nessuno, e gli account che escono dalla stessa via contano come uno.",
    },
    "network.connectTimeoutMs": { label: "Connettersi", help: "Finché la connessione è stabilita." },
    "network.responseStartTimeoutMs": {
      label: "Cominciare a rispondere",
      help: "I prompt lunghi si leggono prima. Alcuni provider hanno un tempo proprio.",
    },
    "network.streamReadinessTimeoutMs": {
      label: "Primo contenuto utile",
      help: "Di un flusso; poi si prova un altro account. 0 aspetta quanto serve.",
    },
    "network.streamReadinessMaxTimeoutMs": {
      label: "Primo contenuto utile, al massimo",
      help: "Fin dove prompt lunghi e molti strumenti possono allungarlo.",
    },
    "network.streamContentStallTimeoutMs": {
      label: "Proseguire dopo il primo pensiero",
      help: "Entro questo tempo un flusso che ha cominciato a pensare deve continuare o rispondere. 0 aspetta quanto serve.",
    },
    "network.streamIdleTimeoutMs": { label: "Silenzio dentro un flusso", help: "Oltre, è considerato morto." },
    "gateway.keepAliveAfterMs.messages": { label: "Anthropic Messages", help: "Si apre dopo. 0 è spento." },
    "gateway.keepAliveAfterMs.responses": { label: "OpenAI Responses", help: "Si apre dopo. 0 è spento." },
    "gateway.keepAliveAfterMs.chat": {
      label: "OpenAI Chat Completions",
      help: "Si apre dopo. 0 è spento. Molti suoi strumenti riprovano guardando solo il codice di stato.",
    },
    "gateway.keepAliveAfterMs.gemini": { label: "Gemini", help: "Si apre dopo. 0 è spento." },
    "gateway.keepAliveIntervalMs": { label: "Da un segno al successivo" },
    "gateway.heartbeatIntervalMs": {
      label: "Pausa dentro una risposta",
      help: "Un flusso già cominciato dà un segno ogni volta che tace per questo tempo. 0 è spento.",
    },
    "translation.cacheControlMode": {
      label: "Segni per la cache",
      help: "Anthropic rilegge un inizio segnato a un decimo del prezzo, e la prima volta chiede un quarto in più.",
    },
    "translation.foreignTools": {
      label: "Strumenti che solo il loro fornitore esegue",
      help: "Come la ricerca sul web, presso un provider che non l'ha.",
    },
    "translation.toolLimitTruncate": {
      label: "Accorcia gli elenchi di strumenti troppo lunghi",
      help: "Se è spento, la richiesta va altrove o è rifiutata: un agente a cui manca uno strumento si perde.",
    },
    "gateway.bodyLimitBytes": { label: "Richiesta più grande", help: "Quelle oltre sono rifiutate con 413." },
    "gateway.maxConnections": {
      label: "Connessioni contemporanee",
      help: "Le altre aspettano. Una modifica vale dopo un riavvio.",
    },
    "gateway.drainTimeoutMs": {
      label: "Tempo per finire quando il gateway si ferma",
      help: "Per le richieste in corso. 0 le interrompe.",
    },
    "routing.defaultModel": {
      label: "Modello predefinito",
      help: "Vale quando una richiesta non ne nomina: provider/modello, un combo o un nome. Vuoto: quelle richieste sono rifiutate.",
    },
    "routing.providerOrder": {
      label: "Provider interpellati per primi",
      help: "Un id per riga. Tra più che servono un modello nominato senza provider.",
    },
    "routing.modelPrefixMode": {
      label: "Nomi nell'elenco dei modelli",
      help: "Che cosa sta davanti a un modello nell'elenco che leggono gli agenti.",
    },
    "logging.detailed": {
      label: "Conserva ciò che è detto",
      help: "Richieste e risposte, su questo computer, senza chiavi, firme e immagini. Se è spento, solo che sono avvenute.",
    },
    "logging.bodyRetentionDays": {
      label: "Ciò che è detto è conservato per",
      help: "Al più quanto la sua richiesta, e 1 GiB in tutto. 0 lo conserva quanto la richiesta.",
    },
    "logging.usageRetentionDays": {
      label: "I consumi sono conservati per",
      help: "Token e costo di ogni richiesta. Almeno 32 giorni, perché i limiti delle chiavi contano un mese. 0 li conserva tutti.",
    },
    "logging.retentionDays": {
      label: "Conservato per",
      help: "Le richieste più vecchie sono rimosse entro un'ora. 0 le conserva tutte.",
    },
    "quota.refreshIntervalMs": {
      label: "Chiedere le quote",
      help: "Degli account collegati con un accesso. 0 chiede solo quando qualcuno guarda.",
    },
    "quota.freshForMs": { label: "Una quota vale per", help: "Chi guarda prima riceve ciò che si sa già." },
    "credentialHealthCheck.intervalMinutes": {
      label: "Provare le credenziali",
      help: "Degli account che nessuno ha usato per tanto. L'esito si vede, e non cambia altro. 0 non prova mai.",
    },
  },
  fieldProblems: {
    "network.proxyMode": "Scrivi prima l'indirizzo del proxy.",
    "network.proxyUrl": "Dev'essere un indirizzo come http://host:porta, con http, https, socks5 o socks5h davanti.",
    "logging.usageRetentionDays": "Dev'essere 0 o almeno 32: i limiti delle chiavi contano un mese.",
    "network.egressCheckUrl":
      "Deve cominciare con https://, o con http:// su questo computer o dove gli indirizzi privati sono ammessi.",
  },
  choices: {
    none: "Nessuno",
    system: "Quello di sistema",
    custom: "Il mio",
    auto: "Quelli dell'agente, o messi per lui",
    off: "Nessuno",
    passthrough: "Solo quelli dell'agente",
    "when-spare": "Togli quelli superflui",
    drop: "Togli sempre",
    refuse: "Rifiuta sempre",
  },
};
