/** Clusters whose peers change between plaintext and TLS, for tests. */
import assert from "node:assert/strict";
import type { EtcdClusterSpecInput } from "../../api/etcd-cluster-spec.ts";
import { isSecure, peerScheme } from "../config/flags.ts";
import { decide } from "../decide.ts";
import type { AuthorityFacts, Observation } from "../observation.ts";
import { predict } from "../plan/predict.ts";
import { settle } from "../plan/settle.ts";
import { changeTLS } from "../rules/change-tls.ts";
import { viewOf } from "../view.ts";
import { edit, healthy } from "./cluster.ts";
import { assertInvariants } from "./naive-invariants.ts";

export type TLS = NonNullable<EtcdClusterSpecInput["tls"]>;
export const PLAIN: TLS = { mode: "Managed", peer: { mode: "Disabled" } };
export const SECURE: TLS = { mode: "Managed" };
export const plain = healthy({ tls: PLAIN });
export const secure = healthy({ tls: SECURE });
export const ask = (world: Observation, tls: TLS) => edit(world, { tls });
export const OWN: TLS = { mode: "Managed", peer: { mode: "Secrets", secrets: { member: "peers" } } };
export const ISSUED: TLS = {
  mode: "Managed",
  peer: { mode: "CertManager", certManager: { member: { name: "ca" } } },
};
/** With what is known of the CA of peers. */
export const withCA = (world: Observation, facts: Partial<AuthorityFacts> | undefined): Observation => {
  const peer = {
    current: "theirs",
    phase: "Steady",
    expiresAt: Infinity,
    rotateAt: Infinity,
    ...facts,
  } as const;
  return { ...world, platform: { ...world.platform, authorities: facts ? { peer } : {} } };
};

export const schemes = (world: Observation) =>
  world.members.map(({ record: { template } }) => peerScheme(template.tls));
export const listed = (world: Observation) =>
  world.etcd.list?.members.map(({ peerURLs: urls }) => urls.join());
export const told = (world: Observation) =>
  changeTLS(viewOf(world)).flatMap((outcome) => ("hold" in outcome ? [outcome.hold] : []));

/** Nobody listens with TLS beside one that could not dial it: by the records, and by what runs (R52). */
function assertReachable(world: Observation): void {
  const someListen = world.members.some(({ record: { template } }) => peerScheme(template.tls) === "https");
  const all = world.members.every(({ record: { template } }) => isSecure(template.tls, "peer"));
  assert.ok(!someListen || all, schemes(world).join());
}

/** Follows the rules to the end, or until `until` is so; every step is checked. */
export function play(
  from: Observation,
  until: (codes: readonly string[], world: Observation) => boolean = () => false,
) {
  const codes: string[] = [];
  let world = settle(from);
  for (let left = 300; left > 0; left--) {
    const { act, converged, lookAgainAt } = decide(world);
    if (!act && (converged || lookAgainAt === undefined)) return { world, codes };
    if (act) {
      assertInvariants(world, act.action);
      codes.push(act.code);
      // What is done is seen before anything else is decided; a restart by itself happens afterwards.
      world = predict(world, act.action);
      if (until(codes, world)) return { world, codes };
      world = settle(world);
    } else world = settle({ ...world, now: Math.max(world.now, lookAgainAt ?? 0) });
    assertReachable(world);
  }
  return assert.fail(`no end: ${codes.join(", ")}`);
}

export const count = (codes: readonly string[], code: string) => codes.filter((one) => one === code).length;
