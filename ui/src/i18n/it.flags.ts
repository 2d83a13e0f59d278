/** Italian words of the feature flags. */
import type { Messages } from "./en";

/** By the name of the variable. */
const names: Messages["flags"]["names"] = {
  REQUIRE_API_KEY: {
    label: "Chiedi una chiave agli agenti",
    help: "Spento, ogni programma su questo computer può spendere il credito dei tuoi provider.",
  },
  ALLOW_PRIVATE_PROVIDER_URLS: {
    label: "Provider su indirizzi privati",
    help: "Ogni connessione può portare nella tua rete, senza permetterle una a una.",
  },
  OMNIROUTE_EMERGENCY_FALLBACK: {
    label: "Ripiego d'emergenza",
    help: "Quando un provider non ha più credito, un tentativo va a un provider che non hai nominato. Non per combo o strumenti.",
  },
  PROTECTED_PRIORITY_INFRA_502_ENABLED: {
    label: "502 quando fallisce una destinazione protetta",
    help: "Per una prima destinazione che si lascia solo a quota esaurita; spento, gli agenti ricevono 503.",
  },
  PROVIDER_COOLDOWN_ENABLED: {
    label: "Riposo del provider",
    help: "Risparmia un intero provider dopo molti errori in poco tempo.",
  },
  QUOTA_PREFLIGHT_CUTOFF_ENABLED: {
    label: "Escludi gli account con la quota in esaurimento",
    help: "Si basa su ciò che i provider annunciano, prima dell'invio.",
  },
  RATE_LIMIT_AUTO_ENABLE: {
    label: "Dosa ogni connessione con chiave API",
    help: "Con i numeri della coda delle richieste, anche dove nessuno l'ha chiesto.",
  },
  STREAM_THROUGHPUT_WATCHDOG_ENABLED: {
    label: "Interrompi i flussi che dicono troppo poco",
    help: "Un flusso che per un po' non porta quasi nulla finisce, così può cominciare un altro tentativo.",
  },
  MODELS_CATALOG_PREFIX_MODE: {
    label: "Nomi nell'elenco dei modelli",
    help: "Se i modelli sono elencati con l'id del provider, il suo nome breve o entrambi.",
  },
};

export const flags: Messages["flags"] = {
  title: "Feature flag",
  help: "Impostazioni con il nome della loro variabile d'ambiente. Un valore scelto qui vince subito sull'ambiente.",
  filter: "Filtra i flag",
  none: "Nessun flag con questo nome",
  noneHelp: "Le impostazioni senza flag hanno una schermata propria.",
  groups: {
    security: "Sicurezza",
    routing: "Instradamento e resilienza",
    streaming: "Risposte in arrivo",
    catalogue: "Modelli",
  },
  hidden: (value) => `L'ambiente dice ${value}; lo nasconde il valore scelto qui.`,
  restart: "Dopo un riavvio",
  restartHelp: "Il gateway in funzione usa ancora il valore con cui è partito.",
  names,
  choices: { dual: "Entrambi", alias: "Nome breve", canonical: "Id del provider" },
  lastResort: {
    title: "Ripiego d'emergenza",
    help: "Dove va l'unico tentativo quando il credito di un provider è finito. Serve una connessione lì.",
  },
  fields: {
    "network.allowPrivateProviderUrls": names.ALLOW_PRIVATE_PROVIDER_URLS,
    "routing.protectedPriorityInfra502": names.PROTECTED_PRIORITY_INFRA_502_ENABLED,
    "routing.emergencyFallback.enabled": { label: "Prova una volta altrove" },
    "routing.emergencyFallback.provider": { label: "Provider", help: "Il suo id, come nell'elenco dei provider." },
    "routing.emergencyFallback.model": { label: "Modello", help: "Come lo chiama quel provider." },
    "routing.emergencyFallback.maxOutputTokens": { label: "Risposta più lunga", unit: "token" },
  },
};
