/**
 * Who may read the metrics, asked of the API server as kube-rbac-proxy does: a TokenReview says whose the token is, a
 * SubjectAccessReview whether they may get the path. Answers are kept for seconds, and only so many are asked for at a
 * time: a flood of made-up tokens must cost neither the API server nor the operator much.
 */
import { createHash } from "node:crypto";
import type { KubeClient } from "../../kube/client.ts";
import { isReason } from "../../kube/errors.ts";
import { resource, type KubeObject } from "../../kube/resources.ts";
import type { Clock } from "../../seams/clock.ts";

export interface TokenReview extends KubeObject {
  readonly spec: { readonly token: string };
  readonly status?: {
    readonly authenticated?: boolean;
    readonly user?: {
      readonly username?: string;
      readonly uid?: string;
      readonly groups?: readonly string[];
      readonly extra?: Readonly<Record<string, readonly string[]>>;
    };
  };
}

export interface AccessReview extends KubeObject {
  readonly spec: {
    readonly nonResourceAttributes: { readonly path: string; readonly verb: string };
    readonly user?: string;
    readonly uid?: string;
    readonly groups?: readonly string[];
    readonly extra?: Readonly<Record<string, readonly string[]>>;
  };
  readonly status?: { readonly allowed?: boolean };
}

const wide = { namespaced: false } as const;
export const tokenReviews = resource<TokenReview>(
  "authentication.k8s.io/v1",
  "TokenReview",
  "tokenreviews",
  wide,
);
export const accessReviews = resource<AccessReview>(
  "authorization.k8s.io/v1",
  "SubjectAccessReview",
  "subjectaccessreviews",
  wide,
);

/** Unknown: the API server gave no answer. Refused: this operator may not ask it. Busy: too many are being asked. */
export type Judgement = "allowed" | "unauthenticated" | "forbidden" | "unknown" | "refused" | "busy";

const KEPT_MS: Partial<Record<Judgement, number>> = {
  allowed: 60_000,
  // A right that was just given is seen soon.
  forbidden: 10_000,
  unauthenticated: 10_000,
};
const MOST_KEPT = 256;
const MOST_AT_ONCE = 4;
const TIMEOUT_MS = 5_000;
/** Tokens of service accounts have about 1,000 characters. */
const LONGEST_TOKEN = 8_192;

export class Reviews {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #kept = new Map<string, { readonly judgement: Judgement; readonly until: number }>();
  readonly #asking = new Map<string, Promise<Judgement>>();

  constructor(client: KubeClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** `authorization` as the header has it. */
  async judge(authorization: string | undefined, path: string): Promise<Judgement> {
    const token = /^Bearer +([^\s]+)$/i.exec(authorization ?? "")?.[1];
    if (token === undefined || token.length > LONGEST_TOKEN) return "unauthenticated";
    // Not the token itself: what is kept must be of no use to who finds it.
    const key = createHash("sha256").update(`${path}\n${token}`).digest("base64");
    const kept = this.#kept.get(key);
    if (kept && kept.until > this.#clock.monotonic()) return kept.judgement;
    const asked = this.#asking.get(key);
    if (asked) return await asked;
    if (this.#asking.size >= MOST_AT_ONCE) return "busy";
    const asking = this.#ask(token, path).finally(() => this.#asking.delete(key));
    this.#asking.set(key, asking);
    const judgement = await asking;
    this.#keep(key, judgement);
    return judgement;
  }

  #keep(key: string, judgement: Judgement): void {
    const ms = KEPT_MS[judgement];
    if (ms === undefined) return;
    this.#kept.delete(key);
    this.#kept.set(key, { judgement, until: this.#clock.monotonic() + ms });
    // Made-up tokens may push out what is known of real ones, which are then asked for again.
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
  }

  async #ask(token: string, path: string): Promise<Judgement> {
    const options = { timeoutMs: TIMEOUT_MS };
    try {
      const { status } = await this.#client.create(tokenReviews, { spec: { token } }, options);
      if (!status?.authenticated || !status.user?.username) return "unauthenticated";
      const { username, uid, groups, extra } = status.user;
      const spec = {
        nonResourceAttributes: { path, verb: "get" },
        user: username,
        ...(uid !== undefined && { uid }),
        ...(groups && { groups }),
        ...(extra && { extra }),
      };
      const answer = await this.#client.create(accessReviews, { spec }, options);
      return answer.status?.allowed ? "allowed" : "forbidden";
    } catch (error) {
      return isReason(error, "Forbidden") ? "refused" : "unknown";
    }
  }
}
