/**
 * What a member's planes are to be like now, where the spec alone does not say: which CAs it trusts while one of them
 * is rotated. A pure function of the records and of the CAs, so that any operator goes on from where another ended.
 */
import { isSecure } from "../config/flags.ts";
import type { AuthorityFacts, Plane } from "../observation.ts";
import type { EffectiveTLS, MemberTemplate } from "../record.ts";
import type { View } from "../view.ts";

export const PLANES: readonly Plane[] = ["client", "peer"];

/** Whether a member checks certificates by a CA on this plane. Servers that ask no client for one have none (R56). */
export function needsTrust({ tls }: Pick<MemberTemplate, "tls">, plane: Plane): boolean {
  return isSecure(tls, plane) && (plane === "peer" || tls.clientAuth === "Required");
}

/** The CAs that a record names; undefined where it names none, which is the only one that there was. */
export function trustOf({ tls }: Pick<MemberTemplate, "tls">, plane: Plane): readonly string[] | undefined {
  return tls.effective?.[plane]?.trust;
}

const asked = new WeakMap<MemberTemplate, MemberTemplate>();

/** The template as a spec asks for it, without the CAs that a record names since a rotation. */
export function withoutEffective(template: MemberTemplate): MemberTemplate {
  if (template.tls.effective === undefined) return template;
  let plain = asked.get(template);
  if (!plain) {
    const { effective: _named, ...tls } = template.tls;
    asked.set(template, (plain = { ...template, tls }));
  }
  return plain;
}

/** Templates are compared and hashed by identity where they can be: the same answer is the same object. */
const known = new WeakMap<MemberTemplate, Map<string, MemberTemplate>>();

export function effective(
  view: Pick<View, "staying" | "observation">,
  template: MemberTemplate,
): MemberTemplate {
  const planes: { -readonly [P in Plane]?: EffectiveTLS[P] } = {};
  for (const plane of PLANES) {
    const trust = needsTrust(template, plane) ? wantedTrust(view, plane) : undefined;
    if (trust) planes[plane] = { trust };
  }
  if (Object.keys(planes).length === 0) return template;
  let variants = known.get(template);
  if (!variants) known.set(template, (variants = new Map()));
  const key = JSON.stringify(planes);
  let variant = variants.get(key);
  if (!variant) {
    variant = { ...template, tls: { ...template.tls, effective: planes } };
    // Rotations are rare: what an earlier one needed is not needed again.
    if (variants.size >= 8) variants.clear();
    variants.set(key, variant);
  }
  return variant;
}

function wantedTrust(
  { staying, observation }: Pick<View, "staying" | "observation">,
  plane: Plane,
): readonly string[] | undefined {
  const authority = observation.platform.authorities?.[plane];
  const recorded = staying.flatMap(({ record }) => trustOf(record.template, plane) ?? []);
  if (!authority) return unknownAuthority(staying.map(({ record }) => trustOf(record.template, plane)));
  switch (authority.phase) {
    // Records from before the first rotation name no CA, and need not: nobody restarts for it.
    case "Steady":
      return recorded.length > 0 ? [authority.current] : undefined;
    case "Bundle":
      return [authority.current, ...otherOf(authority)];
    case "Reissue":
      return [...otherOf(authority), authority.current];
    case "Drop":
      return [authority.current];
  }
}

function otherOf({ other }: AuthorityFacts): string[] {
  return other === undefined ? [] : [other];
}

/** The CA cannot be read: members stay as they are, and where they differ, the one that trusts most is right with all. */
function unknownAuthority(trusts: readonly (readonly string[] | undefined)[]): readonly string[] | undefined {
  return trusts.toSorted((a, b) => (b?.length ?? 0) - (a?.length ?? 0))[0];
}
