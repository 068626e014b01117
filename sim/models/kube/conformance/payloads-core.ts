/** Small kinds of the server's own: objects that are fine, changes that are, and some that are not. */
import type { SeededRandom } from "../../../engine/random.ts";
import { claims } from "../kinds/claim.ts";
import { services } from "../kinds/service.ts";
import { budgets, configMaps, events, leases, nodes, secrets, storageClasses } from "../kinds/simple.ts";
import type { Json } from "../object.ts";
import { digits, NAMES, some, type Payload } from "./payload.ts";

const data = (random: SeededRandom) =>
  some(random, { a: digits(random), b: digits(random), "c.d": digits(random) });
const dataPatch = (random: SeededRandom) =>
  some(random, { a: random.pick(["1", "2", null]), b: random.pick(["1", null]), "c.d": "9" }, 0.5);

export const configMapPayload: Payload = {
  kind: configMaps,
  names: NAMES,
  whole: (random) => ({
    ...(random.chance(0.8) && { data: data(random) }),
    ...(random.chance(0.1) && { data: { "bad key": "1" } }),
    ...(random.chance(0.1) && { immutable: true }),
    ...(random.chance(0.1) && { unknown: 1 }),
  }),
  change: (random) => ({
    data: random.chance(0.1) ? null : dataPatch(random),
    ...(random.chance(0.05) && { immutable: random.pick([true, false]) }),
  }),
  wanted: (random) => ({ ...(random.chance(0.8) && { data: data(random) }) }),
};

const base64 = (value: string) => Buffer.from(value).toString("base64");

export const secretPayload: Payload = {
  kind: secrets,
  names: NAMES,
  whole: (random) => ({
    ...(random.chance(0.3) && { type: "example.com/kind" }),
    ...(random.chance(0.8) && { data: { a: base64(digits(random)), b: base64("x") } }),
    ...(random.chance(0.2) && { stringData: { a: "plain", c: digits(random) } }),
  }),
  change: (random) => ({
    data: some(random, { a: base64(digits(random)), b: null, d: base64("d") }),
    ...(random.chance(0.1) && { type: "example.com/other" }),
  }),
  wanted: (random) => ({ data: some(random, { a: base64(digits(random)), e: base64("e") }) }),
};

const PORTS: readonly Json[] = [
  { name: "client", port: 2379 },
  { name: "peer", port: 2380, targetPort: "peer" },
  { name: "metrics", port: 2381, protocol: "TCP" },
];
const portsOf = (random: SeededRandom) => PORTS.filter(() => random.chance(0.6));

export const servicePayload: Payload = {
  kind: services,
  names: NAMES,
  whole: (random) => ({
    spec: {
      ports: random.chance(0.9) ? [PORTS[0], ...portsOf(random).slice(1)] : portsOf(random),
      ...(random.chance(0.5) && { clusterIP: "None" }),
      ...(random.chance(0.7) && { selector: some(random, { app: "x", tier: digits(random) }) }),
      ...(random.chance(0.3) && { publishNotReadyAddresses: random.chance(0.5) }),
      ...(random.chance(0.2) && { type: "LoadBalancer", clusterIP: undefined }),
    },
  }),
  change: (random) => ({
    spec: {
      ...(random.chance(0.3) && { ports: [PORTS[0], PORTS[2]] }),
      ...(random.chance(0.5) && { selector: { app: random.pick(["x", "y", null]), extra: digits(random) } }),
      ...(random.chance(0.3) && { publishNotReadyAddresses: random.pick([true, false, null]) }),
      ...(random.chance(0.1) && { sessionAffinity: "Sometimes" }),
      ...(random.chance(0.1) && { clusterIP: "None" }),
    },
  }),
  wanted: (random) => ({
    spec: {
      ports: [PORTS[0], ...(random.chance(0.5) ? [PORTS[1]] : []), ...(random.chance(0.3) ? [PORTS[2]] : [])],
      ...(random.chance(0.5) && { selector: { app: random.pick(["x", "y"]) } }),
      ...(random.chance(0.3) && { publishNotReadyAddresses: true }),
    },
  }),
  status: (random) => ({ loadBalancer: random.chance(0.7) ? { ingress: [{ ip: "192.0.2.7" }] } : {} }),
};

const micro = (random: SeededRandom) => `2030-01-07T12:00:0${random.between(0, 9)}.123000Z`;

export const leasePayload: Payload = {
  kind: leases,
  names: NAMES,
  whole: (random) => ({
    spec: {
      ...some(random, { holderIdentity: digits(random), renewTime: micro(random), leaseTransitions: 1 }),
      ...(random.chance(0.8) && { leaseDurationSeconds: random.pick([15, 15, 15, 0]) }),
    },
  }),
  change: (random) => ({
    spec: some(random, {
      holderIdentity: random.pick(["1", "2", null]),
      renewTime: micro(random),
      leaseTransitions: random.pick([1, 2, -1]),
    }),
  }),
  wanted: (random) => ({ spec: some(random, { holderIdentity: digits(random), leaseDurationSeconds: 15 }) }),
};

export const budgetPayload: Payload = {
  kind: budgets,
  names: NAMES,
  whole: (random) => ({
    spec: {
      ...random.pick<Json>([
        { minAvailable: 1 },
        { minAvailable: "50%" },
        { maxUnavailable: 1 },
        { minAvailable: 1, maxUnavailable: 1 },
        {},
      ]),
      selector: { matchLabels: some(random, { app: "x", tier: "1" }) },
    },
  }),
  change: (random) => ({
    spec: random.pick<Json>([
      { minAvailable: 2 },
      { minAvailable: null, maxUnavailable: 1 },
      { maxUnavailable: 1 },
      { selector: { matchLabels: { app: "y" } } },
    ]),
  }),
  wanted: (random) => ({
    spec: { minAvailable: random.between(1, 2), selector: { matchLabels: { app: digits(random) } } },
  }),
  status: (random) => ({
    disruptionsAllowed: random.between(0, 1),
    currentHealthy: 1,
    desiredHealthy: 1,
    expectedPods: 1,
    observedGeneration: 1,
  }),
};

export const claimPayload: Payload = {
  kind: claims,
  names: NAMES,
  whole: (random) => ({
    spec: {
      ...(random.chance(0.95) && { accessModes: ["ReadWriteOnce"] }),
      resources: { requests: { storage: random.pick(["1Gi", "1024Mi", "10Gi", "1500Mi"]) } },
      ...(random.chance(0.4) && { storageClassName: "fast" }),
    },
  }),
  change: (random) => ({
    spec: { resources: { requests: { storage: random.pick(["1Gi", "2Gi"]) } } },
  }),
  wanted: (random) => ({
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: random.pick(["1Gi", "2Gi"]) } },
    },
  }),
  status: (random) => ({
    phase: random.pick(["Pending", "Bound"]),
    ...(random.chance(0.5) && { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"] }),
  }),
};

export const classPayload: Payload = {
  kind: storageClasses,
  names: ["conf-one", "conf-two"],
  whole: (random) => ({
    ...(random.chance(0.95) && { provisioner: "example.com/x" }),
    ...(random.chance(0.5) && { volumeBindingMode: "WaitForFirstConsumer" }),
    ...(random.chance(0.5) && { allowVolumeExpansion: random.chance(0.5) }),
    ...(random.chance(0.3) && { parameters: { a: "1" } }),
  }),
  change: (random) =>
    random.pick<Json>([
      { allowVolumeExpansion: true },
      { reclaimPolicy: "Retain" },
      { parameters: { b: "2" } },
    ]),
  wanted: (random) => ({ provisioner: "example.com/x", allowVolumeExpansion: random.chance(0.5) }),
};

export const nodePayload: Payload = {
  kind: nodes,
  names: ["conf-node-one", "conf-node-two"],
  whole: (random) => ({ spec: random.chance(0.5) ? { unschedulable: true } : {} }),
  change: (random) => ({
    spec: random.pick<Json>([
      { unschedulable: true },
      { unschedulable: null },
      { taints: [{ key: "a", effect: "NoSchedule" }] },
      { taints: null },
    ]),
  }),
  wanted: (random) => ({ spec: random.chance(0.5) ? { unschedulable: true } : {} }),
  status: (random) => ({
    conditions: [
      {
        type: "Ready",
        status: random.pick(["True", "Unknown"]),
        lastTransitionTime: "2030-01-07T12:00:00Z",
        lastHeartbeatTime: null,
      },
    ],
  }),
};

export const eventPayload: Payload = {
  kind: events,
  names: NAMES,
  whole: (random) => ({
    eventTime: micro(random),
    reportingController: "example.com/us",
    reportingInstance: "us-1",
    type: "Normal",
    reason: "Reason",
    action: "Action",
    note: digits(random),
    regarding: { kind: "ConfigMap", apiVersion: "v1", namespace: "conf-a", name: "one", uid: "u" },
  }),
  change: (random) => ({ series: { count: random.between(2, 5), lastObservedTime: micro(random) } }),
  wanted: () => ({ series: { count: 2, lastObservedTime: "2030-01-07T12:00:00.000000Z" } }),
};
