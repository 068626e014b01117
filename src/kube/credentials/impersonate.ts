/** The headers by which a person acts as another: the API server checks that they may. */
import type { Impersonation } from "../kubeconfig/types.ts";

export function impersonationHeaders(as: Impersonation | undefined): Record<string, string | string[]> {
  if (as === undefined) return {};
  const extra = Object.entries(as.extra).map(([name, values]) => [
    `impersonate-extra-${encodedKey(name)}`,
    [...values],
  ]);
  return {
    "impersonate-user": as.user,
    ...(as.uid !== undefined && { "impersonate-uid": as.uid }),
    ...(as.groups.length > 0 && { "impersonate-group": [...as.groups] }),
    ...Object.fromEntries(extra),
  };
}

/** A key may be `example.org/scopes`; in the name of a header only some characters are allowed, the rest go percent-encoded. */
function encodedKey(key: string): string {
  return [...Buffer.from(key.toLowerCase())]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[a-z0-9!#$&'*+\-.^_`|~]/.test(character)
        ? character
        : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
    })
    .join("");
}
