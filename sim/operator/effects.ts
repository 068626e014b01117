/**
 * The effects of operators, numbered over all their lives: each write to the API server but leases and events, and
 * each call that changes something in etcd. A plan says at which number what goes wrong.
 */
import type { KubeRequest } from "../../src/seams/kube-transport.ts";

export const effectFaults = ["crash-before", "crash-after", "reply-lost", "conflict", "timeout"] as const;
/** `unseen`: the answer to a create is lost, and the watch that would tell of the object lags. */
export type EffectFault = (typeof effectFaults)[number] | "unseen";
export type EffectPlan = ReadonlyMap<number, EffectFault>;

export class Effects {
  /** What each was, by its number less one. */
  readonly names: string[] = [];
  readonly plan: EffectPlan;

  constructor(plan: EffectPlan) {
    this.plan = plan;
  }

  get count(): number {
    return this.names.length;
  }

  /** Another effect begins: what goes wrong with it. */
  begin(name: string): EffectFault | undefined {
    this.names.push(name);
    return this.plan.get(this.names.length);
  }
}

/** What a request is called as an effect; undefined when it is none. */
export function effectOf({ method, path, query, body }: KubeRequest): string | undefined {
  if (method === "GET" || query?.["dryRun"] !== undefined) return undefined;
  const parts = path.split("/");
  const rest = parts.slice(parts[1] === "api" ? 3 : 4);
  const [plural = "", name, subresource] = rest[0] === "namespaces" ? rest.slice(2) : rest;
  if (plural === "leases" || plural === "events") return undefined;
  const given = (body as { metadata?: { name?: string } } | undefined)?.metadata?.name;
  return [method, plural, name ?? given, subresource].filter((word) => word !== undefined).join(" ");
}

/** Whether such a fault can befall it: a create is refused in other words, and etcd knows no conflicts. */
export function canBefall(fault: EffectFault, name: string): boolean {
  if (fault === "unseen") return name.startsWith("POST ");
  return fault !== "conflict" || /^(PUT|PATCH|DELETE) /.test(name);
}
