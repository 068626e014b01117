/**
 * Which endpoint is asked next. Pure bookkeeping over a set of endpoints: voters only (R17), the one
 * that answered last first, those that failed a moment ago last. Changes go last to whom refused one by its own view
 * of the others. No randomness, so runs repeat.
 */
import type { Endpoint } from "../seams/etcd-transport.ts";

/** How long an endpoint that failed is asked last. */
const DEMOTED_MS = 5_000;

export function describe(endpoint: Endpoint): string {
  return endpoint.name === undefined ? endpoint.url : `${endpoint.name} (${endpoint.url})`;
}

export function sameEndpoint(a: Endpoint, b: Endpoint): boolean {
  return a.url === b.url && a.serverName === b.serverName;
}

export class EndpointSet {
  #endpoints: readonly Endpoint[];
  #lastGood: string | undefined;
  readonly #demotedUntil = new Map<string, number>();
  readonly #refused = new Set<string>();

  constructor(endpoints: readonly Endpoint[]) {
    this.#endpoints = [...endpoints];
  }

  get all(): readonly Endpoint[] {
    return this.#endpoints;
  }

  /** Replaces the set and forgets what was known of endpoints that left it. */
  replace(endpoints: readonly Endpoint[]): void {
    this.#endpoints = [...endpoints];
    const urls = new Set(endpoints.map((endpoint) => endpoint.url));
    for (const url of this.#demotedUntil.keys()) if (!urls.has(url)) this.#demotedUntil.delete(url);
    for (const url of this.#refused) if (!urls.has(url)) this.#refused.delete(url);
    if (this.#lastGood !== undefined && !urls.has(this.#lastGood)) this.#lastGood = undefined;
  }

  /** The endpoint of a member, by its name or URL. */
  find(nameOrUrl: string): Endpoint | undefined {
    return this.#endpoints.find((endpoint) => endpoint.name === nameOrUrl || endpoint.url === nameOrUrl);
  }

  /**
   * Voters in the order to try them at `now` (monotonic milliseconds). A member that the call removes comes last: it may
   * stop before it answers, and nobody knows then what it did.
   */
  voters(
    now: number,
    { repeatable = true, removes }: { repeatable?: boolean; removes?: string | undefined } = {},
  ): readonly Endpoint[] {
    const rank = ({ url, name }: Endpoint) => {
      if (removes !== undefined && name === removes) return 4;
      if (now < (this.#demotedUntil.get(url) ?? 0)) return 3;
      if (!repeatable && this.#refused.has(url)) return 2;
      return url === this.#lastGood ? 0 : 1;
    };
    return this.#voters().toSorted((a, b) => rank(a) - rank(b));
  }

  #voters(): readonly Endpoint[] {
    return this.#endpoints.filter((endpoint) => endpoint.learner !== true);
  }

  answered(endpoint: Endpoint): void {
    this.#lastGood = endpoint.url;
    this.#demotedUntil.delete(endpoint.url);
  }

  failed(endpoint: Endpoint, now: number): void {
    if (this.#lastGood === endpoint.url) this.#lastGood = undefined;
    this.#demotedUntil.set(endpoint.url, now + DEMOTED_MS);
  }

  /** It refused a change. Once all have that are asked for it, the first one is asked again. */
  refused({ url }: Endpoint, removes?: string): void {
    this.#refused.add(url);
    const asked = this.#voters().filter(({ name }) => removes === undefined || name !== removes);
    if (asked.every((voter) => this.#refused.has(voter.url))) this.#refused.clear();
  }
}
