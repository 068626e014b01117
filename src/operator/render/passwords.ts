/** Which passwords Quorate makes for a cluster, and of which users. */
import { generatedSecrets, isByCertificate, ownSecretsOf } from "../../core/auth/objects.ts";
import type { ClusterFacts } from "../../core/observation.ts";
import { CLIENTS } from "../names.ts";

const USERS: Readonly<Record<string, string>> = { operator: CLIENTS.operator, client: CLIENTS.user };

/** While auth is asked for. What a spec asks for that cannot be understood is not known. */
export function generatedPasswords({
  name,
  spec,
  invalid,
}: ClusterFacts): { readonly secret: string; readonly user: string }[] {
  if (invalid !== undefined) return [];
  const generated = generatedSecrets(spec, ownSecretsOf(name, isByCertificate(spec)));
  return generated.map(({ secret, user }) => ({ secret, user: USERS[user] ?? user }));
}
