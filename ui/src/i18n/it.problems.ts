/** Italian words of what can be wrong with a field, by the gateway's code and with its values. */
import type { Messages } from "./en";

export const fieldProblems: Messages["fieldProblems"] = {
  address_form: () => "Scrivi l'indirizzo intero, per esempio https://api.example.com/v1.",
  address_plain: (host) => `Con http semplice la chiave viaggerebbe leggibile in rete fino a ${host}: usa https.`,
  address_private: (host) => `${host} è un indirizzo privato: consenti le reti private se il server è tuo.`,
  address_refused: (host) => `${host} non è mai un provider di modelli.`,
  credential: () => "Una chiave è una riga sola, senza spazi. È stato copiato anche altro?",
  cycle: (names) => `I combo portano l'uno all'altro: ${names}. Togli uno di questi passi.`,
  empty: () => "Non può essere vuoto.",
  model_form: () => "Scrivi provider/modello, o il nome di un combo.",
  not_found: (name) => `Qui non c'è ${name}.`,
  out_of_range: (min, max) => `Dev'essere da ${min} a ${max}.`,
  spaces: () => "Non può contenere spazi.",
  taken: () => "Questo nome è già usato.",
  too_deep: (depth, most) => `${depth} combo stanno uno dentro l'altro; al massimo possono essere ${most}.`,
  too_long: (most) => `Una riga di al massimo ${most} caratteri.`,
  too_many: (most) => `Al massimo ${most} voci.`,
  wrong_kind: () => "Questo valore non è del tipo che serve qui.",
};
