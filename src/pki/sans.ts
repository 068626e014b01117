/**
 * Subject alternative names: one spelling for each name and address, so that "as wanted" is plain equality,
 * and the names a member needs. A name that cannot go into a certificate is refused by itself and told;
 * it must not keep the other names of the leaf from being renewed.
 */
import { isIP } from "node:net";
import type { Sans } from "../seams/pki.ts";

export type San =
  | { kind: "dns"; value: string }
  | { kind: "ip"; value: string }
  | { kind: "invalid"; reason: string };

const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;

/** Classifies a name or address and gives its canonical spelling. URL brackets around IPv6 are accepted. */
export function parseSan(text: string): San {
  const bare = text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text;
  const family = isIP(bare);
  if (family === 4) return { kind: "ip", value: bare };
  if (family === 6) {
    if (bare.includes("%"))
      return { kind: "invalid", reason: "an address with a zone is not allowed in a certificate" };
    return { kind: "ip", value: canonicalIPv6(bare) };
  }
  const name = text.toLowerCase().replace(/\.$/, "");
  const labels = (name.startsWith("*.") ? name.slice(2) : name).split(".");
  if (name.length > 253 || !labels.every((label) => LABEL.test(label))) {
    return {
      kind: "invalid",
      reason: "neither an IP address nor a DNS name (a wildcard may only be the whole first label)",
    };
  }
  if (/^\d+$/.test(labels.at(-1) ?? ""))
    return { kind: "invalid", reason: "looks like an IP address but is not a valid one" };
  return { kind: "dns", value: name };
}

/** Compressed and lower-case; an IPv4-mapped address becomes IPv4, as Go reads it. */
function canonicalIPv6(address: string): string {
  const compressed = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(compressed);
  if (!mapped?.[1] || !mapped[2]) return compressed;
  const [high, low] = [Number.parseInt(mapped[1], 16), Number.parseInt(mapped[2], 16)];
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

export interface MemberNames {
  /** Names and addresses by which the member is dialled on this plane: hosts of its URLs, Services, localhost. */
  readonly hosts: readonly string[];
  /**
   * Domains under which every member has a name: a headless Service, short and full. R46: the peer check
   * matches wildcards only after a reverse look-up and plain names only by a forward one, so both are needed.
   */
  readonly domains?: readonly string[];
  /** `tls.extraSANs`: for access from outside. */
  readonly extra?: readonly string[];
}

export interface RefusedSan {
  /** Where it came from, such as `extra[1]`. */
  readonly field: string;
  readonly value: string;
  readonly reason: string;
}

/** The names a member's leaf must carry on one plane, and those that cannot be carried. */
export function memberSans(names: MemberNames): { sans: Sans; refused: RefusedSan[] } {
  const dns = new Set<string>();
  const ips = new Set<string>();
  const refused: RefusedSan[] = [];
  const take = (field: string, value: string) => {
    const san = parseSan(value);
    if (san.kind === "invalid") refused.push({ field, value, reason: san.reason });
    else (san.kind === "dns" ? dns : ips).add(san.value);
  };
  names.hosts.forEach((host, i) => take(`hosts[${i}]`, host));
  names.domains?.forEach((domain, i) => {
    take(`domains[${i}]`, domain);
    take(`domains[${i}]`, `*.${domain}`);
  });
  names.extra?.forEach((name, i) => take(`extra[${i}]`, name));
  return { sans: { dns: [...dns].sort(), ips: [...ips].sort() }, refused };
}

/** Whether two sets of names are the same, whatever their order and spelling. */
export function sameSans(a: Sans, b: Sans): boolean {
  const [left, right] = [spellings(a), spellings(b)];
  return left.size === right.size && [...left].every((name) => right.has(name));
}

function spellings(sans: Sans): Set<string> {
  return new Set(
    [...sans.dns, ...sans.ips].map((text) => {
      const san = parseSan(text);
      return san.kind === "invalid" ? text : `${san.kind}:${san.value}`;
    }),
  );
}
