/**
 * Values for a field by what its schema says of it: type, bounds, choices and rules. Texts come from a pool of what
 * people write into manifests, and the rules of the field choose among them; so a field with a new format needs a
 * word in the pool, and is reported as one without a usable value until then.
 */
import type { SchemaNode } from "../../src/api/json-schema.ts";
import { fits } from "./check.ts";

export type ValueClass = "valid" | "boundary" | "hostile";

export interface Value {
  readonly is: ValueClass;
  readonly value: unknown;
}

/** Of images that exist. */
export const DIGESTS: readonly string[] = ["a", "b"].map((digit) => `sha256:${digit.repeat(64)}`);

/** What names of objects and values of labels there are. */
export const NAMED: readonly string[] = ["data", "storage"];

/** What fits a field is usable; the first words are the plainest. */
const WORDS: readonly string[] = [
  ...NAMED,
  "3.6.14",
  "3.7.3",
  "3.5.35",
  "registry.example/etcd",
  "mirror.example:5000/etcd",
  ...DIGESTS,
  "20Gi",
  "4Gi",
  "512Mi",
  "30m",
  "1h30m",
  "150ms",
  "2s",
  "10000",
  "02:30",
  "23:59",
  "etcd.example.com",
  "https://store.example:9000",
  "ab".repeat(32),
  "192.0.2.7",
  "192.0.2.0/24",
  "2001:db8::/32",
  "/var/lib/quorate",
  "demo.0a1b2c3d/demo-1.4e5f6a7b",
  "example.com/internal",
  "kubernetes.io/hostname",
  "GOGC",
  "limits.memory",
  "status.podIP",
  "30 2 * * *",
  "Europe/Berlin",
];
const EDGES: readonly string[] = [
  "",
  "0",
  "1",
  "a",
  "0s",
  "1ms",
  "1m",
  "24h",
  "50s",
  "1000h",
  "00:00",
  "3.6.0",
  "3.6.999",
  "3.4.0",
  "3.99.0",
  "1Ei",
  "0Gi",
  "1.5Gi",
  "100m",
  "::1",
  "0.0.0.0/0",
  "::/0",
  "*.example.com",
];
const HOSTILE: readonly string[] = [
  "../../etc/shadow",
  "/data/../etc",
  "a\nb: c",
  "{{ .Values }}",
  "$(rm -rf /)",
  "ünïcødé-名前",
  "\u0000",
  "__proto__",
  "constructor",
  "-1",
  "-5Gi",
  "-10s",
  "NaN",
  "1e400",
  "1e3000000",
  "1e-3000000",
  "99999999999999999999",
  "v3.6.16",
  "3.6",
  "4.0.0",
  "2.3.8",
  "nowhere.example/etcd",
  "UPPER CASE",
  "24:00",
  "10.0.0.256",
  "'; DROP TABLE members; --",
];
const NUMBERS: readonly number[] = [
  -1,
  0,
  1,
  2,
  3,
  4,
  5,
  6,
  7,
  8,
  9,
  10,
  16,
  59,
  60,
  61,
  99,
  100,
  101,
  600,
  999,
  1_000,
  1_001,
  3_600,
  3_601,
  5_000,
  65_534,
  65_535,
  65_536,
  86_400,
  86_401,
  99_999,
  100_000,
  100_001,
  1_000_000,
  9_999_999,
  10_000_000,
  10_000_001,
  2_147_483_646,
  2_147_483_647,
  2_147_483_648,
  4_294_967_296,
  Number.MAX_SAFE_INTEGER,
];
const SHARES: readonly number[] = [-0.1, 0, 0.25, 0.9, 1, 1.1, 45];
/** Keys of maps, plainest first; those with a meaning of their own name things that exist. */
export const KEYS: readonly string[] = [
  "team",
  "max-wals",
  "StopGRPCServiceOnDefrag",
  "cpu",
  "memory",
  "example.com/team",
];
export const HOSTILE_KEYS: readonly string[] = [
  "__proto__",
  "constructor",
  "",
  "a/b/c",
  "with space",
  "x".repeat(400),
  "etcd.quorate.dev/role",
  "name",
  "unsafe-no-fsync",
];

/** All there are, plainest first within each class; of the valid ones those that are also boundaries count as such. */
export function valuesOf(node: SchemaNode): Value[] {
  const edges = boundary(node);
  const isEdge = new Set(edges.map((value) => JSON.stringify(value)));
  const plain = valid(node).filter((value) => !isEdge.has(JSON.stringify(value)));
  return [
    ...(plain.length > 0 ? plain : edges.filter((value) => fits(node, value))).map(as("valid")),
    ...edges.map(as("boundary")),
    ...hostile(node).map(as("hostile")),
  ];
}

const as =
  (is: ValueClass) =>
  (value: unknown): Value => ({ is, value });

/** Usable values, plainest first. */
export function valid(node: SchemaNode): unknown[] {
  return pool(node).filter((value) => fits(node, value));
}

function pool(node: SchemaNode): readonly unknown[] {
  if (node.enum) return node.enum;
  if (node["x-kubernetes-int-or-string"]) return [...WORDS, ...EDGES, ...NUMBERS.slice(1)];
  switch (node.type) {
    case "boolean":
      return [true, false];
    case "integer":
      return middle(NUMBERS.filter((value) => fits(node, value)));
    case "number":
      return middle(SHARES.filter((value) => fits(node, value)));
    default:
      return [...WORDS, ...EDGES];
  }
}

/** The ends are boundaries, and come last here. */
function middle(numbers: readonly number[]): readonly number[] {
  return [...numbers.slice(2, -1), ...numbers.slice(0, 2), ...numbers.slice(-1)];
}

function boundary(node: SchemaNode): unknown[] {
  if (node.enum || node.type === "boolean") return [];
  if (node.type === "integer" || node.type === "number") {
    const bounds = [node.minimum, node.maximum].filter((bound) => bound !== undefined);
    const known = (node.type === "number" ? SHARES : NUMBERS).filter((value) => fits(node, value));
    return [...bounds, ...known.slice(0, 2), ...known.slice(-1)];
  }
  if (node["x-kubernetes-int-or-string"])
    return [...EDGES, 0, 1, Number.MAX_SAFE_INTEGER].filter((value) => fits(node, value));
  const least = (node.minLength ?? 0) > 0 ? ["a".repeat(node.minLength ?? 1)] : [];
  const edges = EDGES.filter((value) => fits(node, value));
  return [...least, ...longest(node), ...edges];
}

/** As long as it may be, in a form that its rules take. */
function longest({ ...node }: SchemaNode): unknown[] {
  const length = node.maxLength;
  if (length === undefined) return [];
  const forms = ["a".repeat(length), `/${"a".repeat(length - 1)}`, `${"0".repeat(length - 2)}9s`];
  return forms.filter((value) => fits(node, value)).slice(0, 1);
}

function hostile(node: SchemaNode): unknown[] {
  const wrongTypes = [null, [], {}, true, 7, 2.5, "text"].filter(
    (value) => value !== null && !fits(node, value) && !(node.type === "number" && value === 2.5),
  );
  if (node.enum) {
    const [first] = node.enum as string[];
    return ["", "Nonsense", first?.toLowerCase(), `${first} `, ...wrongTypes];
  }
  if (node.type === "boolean") return ["yes", "true", ...wrongTypes];
  if (node.type === "integer" || node.type === "number") {
    const beyond = (node.type === "number" ? SHARES : NUMBERS).filter((value) => !fits(node, value));
    const past = [node.minimum, node.maximum].flatMap((bound, index) =>
      bound === undefined ? [] : [bound + (index === 0 ? -1 : 1)],
    );
    return [...past, ...beyond, "3", "1e3", ...wrongTypes];
  }
  const long = node.maxLength === undefined ? [] : ["x".repeat(node.maxLength + 1)];
  return [...HOSTILE, ...long, "x".repeat(100_000), ...wrongTypes];
}
