/** Our own resources for the random calls, with specs and changes that their rules are for and against. */
import { exampleCluster } from "../../../../src/api/examples.ts";
import { exampleMember } from "../../../../src/api/member-examples.ts";
import type { SeededRandom } from "../../../engine/random.ts";
import type { Kind } from "../kind.ts";
import { ours } from "../kinds/ours.ts";
import type { Json } from "../object.ts";
import { digits, some, type Payload } from "./payload.ts";

const [clusters, members] = ours as readonly [Kind, Kind];

const clusterSpec = (random: SeededRandom): Json =>
  some(
    random,
    {
      replicas: random.pick([0, 1, 3, 3, 5, 10]),
      paused: random.chance(0.5),
      learners: random.pick([0, 1, 9]),
      storage: random.pick<Json>([{ size: "20Gi" }, { medium: "Memory" }, { hostPath: "/x" }, {}]),
      options: random.pick<Json>([
        { logLevel: "Debug" },
        { logLevel: "Loud" },
        { extraArgs: { "max-wals": "7" } },
        { electionTimeout: "3s", heartbeatInterval: "300ms" },
      ]),
      image: { pullSecrets: ["a", ...(random.chance(0.5) ? ["b"] : [])] },
      tls: { extraSANs: ["a.example.com"] },
      nonsense: { deep: 1 },
    },
    0.25,
  );

export const clusterPayload: Payload = {
  kind: clusters,
  names: ["demo", "extra"],
  whole: (random, name) => {
    const { spec } = exampleCluster({ name, spec: clusterSpec(random) as Record<string, unknown> });
    return random.chance(0.05) ? {} : { spec: spec as Json };
  },
  change: (random) => ({
    spec: {
      ...clusterSpec(random),
      ...(random.chance(0.2) && { version: random.pick(["3.6.16", "3.5.20", "v3", null]) }),
      ...(random.chance(0.2) && { options: { logLevel: null } }),
    },
  }),
  wanted: (random) => ({ spec: { version: random.pick(["3.6.14", "3.6.16"]), ...clusterSpec(random) } }),
  status: (random) => ({
    ...some(random, {
      phase: random.pick(["Healthy", "Healing", "Waiting"]),
      message: digits(random),
      replicas: random.between(0, 3),
      selector: "app=x",
      observedGeneration: 1,
      readyReplicas: random.pick([1, 2]),
      members: [{ name: "demo-1", role: "Leader", healthy: true }],
    }),
    conditions: ["Quorate", "Ready"]
      .filter(() => random.chance(0.6))
      .map((type) => ({
        type,
        status: random.pick(["True", "False"]),
        reason: "Because",
        message: digits(random),
        lastTransitionTime: "2030-01-07T12:00:00Z",
      })),
  }),
};

const memberChange = (random: SeededRandom): Json =>
  random.pick<Json>([
    { joined: true, memberID: "8e9e05c52164694d" },
    { joined: false },
    { role: "Learner" },
    { token: "other-2" },
    { volumeUID: digits(random) },
    { leaving: { reason: "scale-in", volume: "Delete" } },
    { retiring: { reason: digits(random) } },
    { run: random.chance(0.5) },
    { unknown: 1 },
  ]);

export const memberPayload: Payload = {
  kind: members,
  names: ["demo-1", "demo-2"],
  whole: (random, name) => {
    const ordinal = random.chance(0.9) ? Number(name.slice(5)) : 7;
    return { spec: { ...exampleMember({ ordinal }).spec, ...memberChange(random) } };
  },
  change: (random) => ({
    spec: {
      ...memberChange(random),
      ...(random.chance(0.2) && { template: { version: "3.6.16", free: { of: { any: "shape" } } } }),
      ...(random.chance(0.1) && { leaving: null }),
    },
  }),
  wanted: (random, name) => ({
    spec: { ...exampleMember({ ordinal: Number(name.slice(5)) }).spec, ...memberChange(random) },
  }),
  status: (random) =>
    some(random, { phase: "Healthy", message: digits(random), role: "Leader", memberID: "1" }),
};
