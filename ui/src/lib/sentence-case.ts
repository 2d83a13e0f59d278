/** A word of a sentence as it stands alone: `automatic` becomes `Automatic`. */
export function sentenceCase(word: string): string {
  return word.charAt(0).toLocaleUpperCase() + word.slice(1);
}
