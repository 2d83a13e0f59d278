/** Whether `name` fits `glob`, in which `*` stands for any run of characters, slashes included: the gateway's own rule. */
export function globMatches(glob: string, name: string): boolean {
  const pattern = glob
    .split("*")
    .map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"))
    .join(".*");
  return new RegExp(`^${pattern}$`, "s").test(name);
}
