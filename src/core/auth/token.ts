/**
 * The tokens that etcd gives to clients that log in by password. Which kind, and the number of the key that they are
 * signed with, is part of what a member is started with: a change rolls the members. The key itself is in no record.
 */
import type { EtcdClusterSpec } from "../../api/etcd-cluster-spec.ts";
import type { TemplateToken } from "../../api/etcd-member.ts";
import type { ClusterMarks, MemberRecord, MemberTemplate } from "../record.ts";

const FIRST_KEY = 1;
/** etcd's own, for either type. */
export const DEFAULT_TOKEN_TTL = "5m";

/** Undefined where it is what etcd does by itself, so that nobody restarts for having it said. */
export function tokenFor({ auth }: Pick<EtcdClusterSpec, "auth">): TemplateToken | undefined {
  if (!auth?.token) return undefined;
  const { type, ttl } = auth.token;
  return type === "Simple" && ttl === undefined ? undefined : { type, ...(ttl !== undefined && { ttl }) };
}

type Signing = Pick<MemberTemplate, "auth">;

/** The number of the key that a member of this template signs with; undefined where it signs nothing. */
export function signingKey({ auth }: Signing): number | undefined {
  return auth?.token.type === "JWT" ? (auth.token.key ?? FIRST_KEY) : undefined;
}

/** The key that members are to sign with. A mark that got lost is no reason to return to an old one. */
export function currentKey(
  marks: Pick<ClusterMarks, "tokenKey">,
  records: readonly { readonly template: Signing }[],
): number {
  const recorded = records.map(({ template }) => signingKey(template) ?? FIRST_KEY);
  return Math.max(marks.tokenKey?.number ?? FIRST_KEY, ...recorded);
}

/** The keys that have to be there: those of the members, and the one that the next of them starts with. */
export function neededKeys(
  spec: Pick<EtcdClusterSpec, "auth">,
  marks: Pick<ClusterMarks, "tokenKey">,
  records: readonly MemberRecord[],
): number[] {
  const next = spec.auth?.token?.type === "JWT" ? [currentKey(marks, records)] : [];
  const used = records.flatMap(({ template }) => signingKey(template) ?? []);
  return [...new Set([...used, ...next])].toSorted((a, b) => a - b);
}

/** As the view has them. */
interface Signers {
  readonly staying: readonly { readonly record: MemberRecord }[];
  readonly observation: { readonly cluster: { readonly marks: ClusterMarks } };
}

const numbered = new WeakMap<MemberTemplate, Map<number, MemberTemplate>>();

/** The template with the number of its key: none where it is the first, so that records stay as they were. */
export function withKey({ staying, observation }: Signers, template: MemberTemplate): MemberTemplate {
  const { auth } = template;
  if (auth?.token.type !== "JWT") return template;
  const key = currentKey(
    observation.cluster.marks,
    staying.map(({ record }) => record),
  );
  if (key === (auth.token.key ?? FIRST_KEY)) return template;
  let variants = numbered.get(template);
  if (!variants) numbered.set(template, (variants = new Map()));
  let variant = variants.get(key);
  if (!variant) variants.set(key, (variant = { ...template, auth: { token: { ...auth.token, key } } }));
  return variant;
}

/** As the spec alone asks for it. */
export function withoutKey(template: MemberTemplate): MemberTemplate {
  if (template.auth?.token.key === undefined) return template;
  const { key: _number, ...token } = template.auth.token;
  return { ...template, auth: { token } };
}

export function sameTokens({ auth: a }: Signing, { auth: b }: Signing): boolean {
  if (!a || !b) return a === b;
  return (["type", "ttl", "key"] as const).every((field) => a.token[field] === b.token[field]);
}
