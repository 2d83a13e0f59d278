/** English words of what can be wrong with a field, by the gateway's code and with its values. */

export const fieldProblems = {
  address_form: () => "Write the whole address, for example https://api.example.com/v1.",
  address_plain: (host: string) => `Plain http would send the key readable over the network to ${host}: use https.`,
  address_private: (host: string) => `${host} is a private address: allow private networks if the server is yours.`,
  address_refused: (host: string) => `${host} is never a model provider.`,
  credential: () => "A key is one line without spaces. Was something else copied along?",
  cycle: (names: string) => `The combos lead to each other: ${names}. Remove one of these steps.`,
  empty: () => "Must not be empty.",
  model_form: () => "Write provider/model, or the name of a combo.",
  not_found: (name: string) => `There is no ${name} here.`,
  out_of_range: (min: string, max: string) => `Must be from ${min} to ${max}.`,
  spaces: () => "Must not contain spaces.",
  taken: () => "This name is taken.",
  too_deep: (depth: string, most: string) => `${depth} combos stand inside each other; at most ${most} may.`,
  too_long: (most: string) => `One line of at most ${most} characters.`,
  too_many: (most: string) => `At most ${most} entries are possible.`,
  wrong_kind: () => "This is not the kind of value that belongs here.",
};
