/** The members of `providerSpecificData` that the window knows. */
import type { Connection } from "@/bindings";

export function baseUrlOf({ providerSpecificData }: Connection): string {
  const { baseUrl } = providerSpecificData;
  return typeof baseUrl === "string" ? baseUrl : "";
}

export function allowsPrivateNetwork({ providerSpecificData }: Connection): boolean {
  return providerSpecificData.allowPrivateNetwork === true;
}
