/**
 * Whether a leaf that somebody else made can be used: its key, its chain, its life, what it is for, and its names. It
 * may have more names than are needed, and wildcards for them; everything that is missing is told at once.
 */
import type { CertificateFacts, LeafSpec, Sans } from "../seams/pki.ts";
import { parseSan } from "./sans.ts";

/** What keeps a leaf from being used, as sentences without their subject; empty when it can be. */
export function flawsOf(facts: CertificateFacts, wanted: LeafSpec, now: number): string[] {
  if (facts.isCa) return ["is a CA certificate, not one of a server or client"];
  if (facts.keyMatches !== true) return ["does not match its private key"];
  const flaws: string[] = [];
  if (facts.issuedBy === undefined) flaws.push("is not signed by a CA in ca.crt");
  if (now < facts.notBefore) flaws.push(`is not valid before ${iso(facts.notBefore)}`);
  if (now > facts.notAfter) flaws.push(`expired at ${iso(facts.notAfter)}`);
  if (facts.issuerEnds !== undefined && now > facts.issuerEnds)
    flaws.push(`is signed by a CA that expired at ${iso(facts.issuerEnds)}`);
  // A certificate that names no usage may be used for everything.
  const unusable =
    facts.usages.length === 0 ? [] : wanted.usages.filter((one) => !facts.usages.includes(one));
  if (unusable.length > 0) flaws.push(`lacks the extended key usage ${unusable.join(" and ")}`);
  // Of what dials for others: etcd would take them for the user of this name (R55).
  if (wanted.commonName === "" && facts.commonName)
    flaws.push(
      `has the common name ${facts.commonName}, and must have none: requests would act as that user`,
    );
  // Of what etcd takes for a user: another one than it knows would have no rights (R40).
  const { users: [inUse = ""] = [], users } = wanted;
  const name = facts.commonName ?? "";
  if (users && !users.includes(name))
    flaws.push(
      `has ${named(name)}, but with authentication on it must be of a user that has the role root in etcd: the operator keeps its previous certificate, which has ${named(inUse)}. Use that name, or first add a user of the new name, with a password and the role root`,
    );
  const missing = missingNames(facts.sans, wanted.sans);
  if (missing.length > 0) flaws.push(`lacks the names ${missing.join(", ")}`);
  return flaws;
}

const named = (commonName: string) =>
  commonName === "" ? "no common name" : `the common name ${commonName}`;

/** Those of the wanted names and addresses that a client could not verify with this certificate. */
export function missingNames(has: Sans, wanted: Sans): string[] {
  const dns = new Set(has.dns.map(spelled));
  const ips = new Set(has.ips.map(spelled));
  return [
    ...wanted.dns.filter((name) => !dns.has(spelled(name)) && !dns.has(wildcardFor(name))),
    ...wanted.ips.filter((address) => !ips.has(spelled(address))),
  ];
}

/** A wildcard stands for exactly one label, the first, as Go verifies it. */
function wildcardFor(name: string): string {
  return name.startsWith("*.") ? "" : spelled(name).replace(/^[^.]+/, "*");
}

function spelled(text: string): string {
  const san = parseSan(text);
  return san.kind === "invalid" ? text.toLowerCase() : san.value;
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
