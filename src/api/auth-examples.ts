/** Good and bad EtcdUsers and EtcdRoles, for the unit tests and for the tests with a real API server. */
import { API_VERSION } from "./metadata.ts";

export interface AuthExample {
  readonly title: string;
  readonly name?: string;
  readonly spec: Readonly<Record<string, unknown>>;
  /** The spec that is stored; absent for a creation. */
  readonly old?: Readonly<Record<string, unknown>>;
  /** Where the refusal is reported; absent for one that is accepted. */
  readonly refusedAt?: string;
}

export function exampleAuthObject(
  kind: "EtcdUser" | "EtcdRole",
  spec: AuthExample["spec"],
  name = "orders",
): { metadata: { name: string } } & Record<string, unknown> {
  return { apiVersion: API_VERSION, kind, metadata: { name }, spec: { cluster: "demo", ...spec } };
}

const OTHERS: readonly AuthExample[] = [
  {
    title: "a cluster that no EtcdCluster can be named",
    spec: { cluster: "Demo" },
    refusedAt: "spec.cluster",
  },
  {
    title: "another cluster after it was created",
    old: {},
    spec: { cluster: "other" },
    refusedAt: "spec.cluster",
  },
  { title: "a name after it was created without", old: {}, spec: { name: "app" }, refusedAt: "spec.name" },
  { title: "another name", old: { name: "one" }, spec: { name: "two" }, refusedAt: "spec.name" },
  { title: "the same again", old: { name: "one" }, spec: { name: "one" } },
  {
    title: "a name that etcd could be asked for in quotes only",
    spec: { name: "a b" },
    refusedAt: "spec.name",
  },
  { title: "a name with @", spec: { name: "alice@example.com" } },
  {
    title: "a name that is too long for a certificate",
    name: "a".repeat(65),
    spec: {},
    refusedAt: "metadata.name",
  },
  { title: "a long name of the object with a short one in etcd", name: "a".repeat(65), spec: { name: "a" } },
];

export const userExamples: readonly AuthExample[] = [
  ...OTHERS,
  { title: "a user by certificate", spec: { roles: ["reader"] } },
  { title: "a user by password", spec: { passwordSecret: "orders-etcd", roles: [] } },
  { title: "an administrator", spec: { roles: ["root"] } },
  { title: "another password", old: { passwordSecret: "a" }, spec: { passwordSecret: "b" } },
  {
    title: "a password for one that was created without",
    old: {},
    spec: { passwordSecret: "a" },
    refusedAt: "spec.passwordSecret",
  },
  { title: "a certificate of its own", spec: { certificate: {} } },
  { title: "a certificate beside a password", spec: { certificate: {}, passwordSecret: "orders-etcd" } },
  { title: "a certificate later", old: {}, spec: { certificate: {} } },
  {
    title: "no certificate any more",
    old: { certificate: {} },
    spec: {},
    refusedAt: "spec.certificate",
  },
  {
    title: "a certificate whose Secret could not have a name",
    name: "a".repeat(245),
    spec: { name: "a", certificate: {} },
    refusedAt: "metadata.name",
  },
  { title: "the user root", name: "root", spec: {}, refusedAt: "metadata.name" },
  { title: "the user root by another name", spec: { name: "root" }, refusedAt: "metadata.name" },
  { title: "the operator's user", spec: { name: "quorate-operator" }, refusedAt: "metadata.name" },
  { title: "the name of a member", spec: { name: "demo-1" }, refusedAt: "metadata.name" },
  { title: "the name of another cluster's member", spec: { name: "other-1" } },
  { title: "a Secret that cannot exist", spec: { passwordSecret: "A" }, refusedAt: "spec.passwordSecret" },
  { title: "a role that cannot exist", spec: { roles: ["-"] }, refusedAt: "spec.roles[0]" },
];

const role = (...permissions: readonly object[]) => ({ permissions });

export const roleExamples: readonly AuthExample[] = [
  ...OTHERS,
  { title: "a role that permits nothing", spec: {} },
  { title: "one key", spec: role({ access: "Read", key: "a" }) },
  { title: "a prefix", spec: role({ access: "ReadWrite", key: "a/", prefix: true }) },
  { title: "all keys", spec: role({ access: "ReadWrite", key: "", prefix: true }) },
  { title: "a range", spec: role({ access: "Write", key: "a", rangeEnd: "b" }) },
  {
    title: "an empty key",
    spec: role({ access: "Read", key: "" }),
    refusedAt: "spec.permissions[0].key",
  },
  {
    title: "a range that is also a prefix",
    spec: role({ access: "Read", key: "a", prefix: true, rangeEnd: "b" }),
    refusedAt: "spec.permissions[0].rangeEnd",
  },
  {
    title: "a range without a key in it",
    spec: role({ access: "Read", key: "b", rangeEnd: "a" }),
    refusedAt: "spec.permissions[0].rangeEnd",
  },
  {
    title: "a range that ends where it begins",
    spec: role({ access: "Read", key: "b", rangeEnd: "b" }),
    refusedAt: "spec.permissions[0].rangeEnd",
  },
  { title: "the role root", name: "root", spec: {}, refusedAt: "metadata.name" },
  { title: "the role root by another name", spec: { name: "root" }, refusedAt: "metadata.name" },
];
