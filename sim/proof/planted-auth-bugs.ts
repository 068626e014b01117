/** Faults by which auth locks out, lets in, or forgets. The same rules hold as for planted-bugs.ts. */
import type { PlantedBug } from "./planted-bugs.ts";

export const plantedAuthBugs: readonly PlantedBug[] = [
  {
    name: "auth is enabled before the operator has its role",
    breaks: "R40",
    file: "src/core/auth/wanted.ts",
    find: "[{ name: self, roles: [ROOT], secret: ownSecrets.operator, own: true }]),",
    replace: "[{ name: self, roles: [], secret: ownSecrets.operator, own: true }]),",
  },
  {
    name: "auth is left on although it was asked to be off",
    breaks: "I6",
    file: "src/core/rules/auth.ts",
    find: "if (etcd.enabled && view.spec.auth?.enabled === false)",
    replace: "if (etcd.predicted && view.spec.auth?.enabled === false)",
  },
  {
    name: "a deleted user stays in etcd",
    breaks: "I9",
    file: "src/core/auth/diff.ts",
    find: "...(has(etcd.users, of.name) && !isAnothers(facts.users, of)",
    replace: "...(!has(etcd.users, of.name) && !isAnothers(facts.users, of)",
  },
  {
    name: "auth is enabled while members still have other tokens",
    breaks: "R53",
    file: "src/core/rules/auth.ts",
    find: 'if (members.length > 0) return hold(HOLDS.nothing, "AuthAwaitsTokens"',
    replace: 'if (members.length > 9) return hold(HOLDS.nothing, "AuthAwaitsTokens"',
  },
  {
    name: "a key that is replaced is the same again",
    breaks: "R53",
    file: "src/operator/apply/token-keys.ts",
    find: "return [file, has || copyOf(number) || hex(random, KEY_BYTES)];",
    replace: "return [file, has || copyOf(number) || copyOf(number - 1) || hex(random, KEY_BYTES)];",
  },
  {
    name: "the old key of tokens is kept for ever",
    breaks: "I9",
    file: "src/core/auth/token.ts",
    find: "return [...new Set([...used, ...next])]",
    replace: "return [...new Set([...used, 1, ...next])]",
  },
  {
    name: "a member that refuses the tokens of the others is never asked for its own",
    breaks: "R53",
    file: "src/etcd/token.ts",
    find: "if (this.#suspects.has(url)) {",
    replace: "if (this.#suspects.size > 99) {",
  },
  {
    name: "the certificate of a server is a client's as well",
    breaks: "R51",
    file: "src/pki/plan.ts",
    find: "const server = ownGateway ? USAGES.server : USAGES.serverWithGateway;",
    replace: "const server = ownGateway ? USAGES.serverWithGateway : USAGES.serverWithGateway;",
  },
  {
    name: "whoever is refused does not let himself in again",
    breaks: "R55",
    file: "src/core/rules/regain-access.ts",
    find: "|| hasQuorum || refused.length === 0) return [];",
    replace: "|| !hasQuorum || refused.length === 0) return [];",
  },
];
