/** Italian words of combos in use: how they did, the trial of their targets, their tiers. */
import type { Messages } from "./en";
import { counter } from "./plural";

const count = counter("it");

export const comboUse: Messages["comboUse"] = {
  columns: { answered: "Risposte", takes: "Durata", lastUsed: "Ultimo uso" },
  lastDay: "Nelle ultime 24 ore",
  notAsked: "Nelle ultime 24 ore nessuno l'ha chiesto.",
  answeredOf: (successes, finished) => `${successes} richieste su ${finished} hanno avuto risposta`,
  usually: (half, most) => `La metà entro ${half}, 19 su 20 entro ${most}.`,

  record: {
    title: "Ultime 24 ore",
    requests: "Richieste",
    answered: "Con risposta",
    half: "La metà entro",
    most: "19 su 20 entro",
    lastUsed: "Ultimo uso",
    targets: "Per destinazione",
    ofTarget: (n) => count(n, "richiesta", "richieste"),
    none: "Nelle ultime 24 ore nessuno ha chiesto questo combo.",
  },

  test: {
    action: "Prova",
    title: (name) => `Prova ${name}`,
    help: "Manda un breve messaggio a ogni destinazione del combo e annota chi risponde. Costa pochi token e non cambia nulla: nessun account va in pausa per questo.",
    unsaved: "Si prova il combo così com'è stato salvato l'ultima volta.",
    prompt: "Messaggio",
    promptHelp: "Vuoto: un saluto.",
    run: "Prova ogni destinazione",
    runAgain: "Prova di nuovo",
    running: "Provo ogni destinazione…",
    passed: (passed, all) => `${passed} su ${count(all, "destinazione risponde", "destinazioni rispondono")}`,
    results: "Destinazioni",
    noTargets: "Nessun passo di questo combo porta a un modello, quindi non c'è nulla da provare.",
    took: (duration) => `ha risposto in ${duration}`,
  },

  tiers: {
    title: "Livelli",
    help: "Un ordine diverso da quello dell'elenco: si parte da un livello e si scende da livello a livello. I passi senza livello vengono per ultimi.",
    none: "I passi vengono interpellati nell'ordine dell'elenco.",
    add: "Aggiungi livello",
    start: "Si parte da",
    startHelp: "Il livello interpellato per primo.",
    name: "Livello",
    step: "Passo",
    next: "Poi",
    noNext: "gli altri passi",
    goneStep: "un passo che non esiste più",
    nameOf: (name) => `Nome del livello ${name}`,
    stepOf: (name) => `Passo del livello ${name}`,
    nextOf: (name) => `Ripiego del livello ${name}`,
    remove: (name) => `Rimuovi il livello ${name}`,
    newName: (n) => `livello-${n}`,
  },
};
