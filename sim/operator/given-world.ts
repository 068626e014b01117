/** A cluster whose certificates a user of the model makes, in Secrets that its spec names. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import { findCondition } from "../../src/core/status/condition.ts";
import type { Sans } from "../../src/seams/pki.ts";
import { ModelPki } from "../machine/model-pki.ts";
import { ModelCertManager } from "../models/kube/cert-manager.ts";
import { CLIENTS, LABELS } from "../../src/operator/names.ts";
import { NAME, NAMESPACE } from "./environment.ts";
import { OperatorSimulation } from "./simulation.ts";

const DAY = 86_400_000;
const PATH = `/api/v1/namespaces/${NAMESPACE}/secrets`;
export const GIVEN_TLS = {
  mode: "Secrets",
  client: { secrets: { server: "web", operator: "op" } },
  peer: { secrets: { member: "peers" } },
} as const;
/** Of issuers that `certManagerIn` knows. */
export const ISSUED_TLS = {
  mode: "CertManager",
  client: { certManager: { server: { name: "web" }, operator: { name: "web" } } },
  peer: { certManager: { member: { name: "peers" } } },
} as const;
/** The same, with another CA for clients than for servers. */
export const ISSUED_APART_TLS = {
  ...ISSUED_TLS,
  client: { certManager: { server: { name: "web" }, operator: { name: "clients" } } },
} as const;
export const NAMES: Readonly<Record<string, readonly string[]>> = {
  web: [`demo-client.${NAMESPACE}.svc`, `*.demo-peers.${NAMESPACE}.svc`],
  peers: [`demo-peers.${NAMESPACE}.svc`, `*.${NAMESPACE}.svc`],
  op: [],
};

export type CaOfUser = Awaited<ReturnType<ModelPki["issueCa"]>>;

/** Files of a Secret of this name, with a certificate of the same name unless another one is given. */
export async function issued(
  pki: ModelPki,
  name: string,
  by: CaOfUser,
  commonName = name,
): Promise<Record<string, string>> {
  const sans: Sans = { dns: NAMES[name] ?? [], ips: [] };
  const usages = ["serverAuth", "clientAuth"] as const;
  const leaf = { commonName, sans, usages, lifeMs: 90 * DAY };
  const { certificate, key } = await pki.issueLeaf({ ca: by, leaf });
  return { "tls.crt": certificate, "tls.key": key, "ca.crt": by.certificate };
}

interface Issuer {
  readonly pki: ModelPki;
  readonly cas: CaOfUser[];
  /** Of which CAs there were certificates, the last at last. */
  readonly given: number[];
}

const ISSUERS = new WeakMap<OperatorSimulation, Issuer>();

/** All of them, from the user's CA of this number; changes of them are seen at once. */
export async function give(sim: OperatorSimulation, number: number): Promise<void> {
  let issuer = ISSUERS.get(sim);
  if (!issuer) {
    issuer = { pki: new ModelPki(sim.env.clock, { last: 1_000_000 }), cas: [], given: [] };
    ISSUERS.set(sim, issuer);
  }
  const { pki, cas, given } = issuer;
  given.push(number);
  const ca = (cas[number] ??= await pki.issueCa({ commonName: `Company ${number}`, lifeMs: 1000 * DAY }));
  for (const name of Object.keys(NAMES))
    put(sim, name, await issued(pki, name, ca), { [LABELS.cluster]: NAME });
}

/**
 * The user does what the status says of what was given: puts back the CA before a third one, which ends no rotation to a
 * second, or takes the name that the operator has had since before auth was enabled.
 */
export async function heedTLS(sim: OperatorSimulation): Promise<boolean> {
  const { reason, message = "" } = findCondition(sim.cluster?.status?.conditions, "TLSReady") ?? {};
  const { pki, cas, given } = ISSUERS.get(sim) ?? {};
  const last = given?.at(-1);
  if (!pki || !cas || last === undefined) return false;
  const before = given?.findLast((number) => number !== last);
  if (reason === "CAChanged" && before !== undefined) await give(sim, before);
  else if (
    reason === "CertificateInvalid" &&
    cas[last] &&
    OF_ANOTHER_NAME.test(message) &&
    usersAreKnown(sim)
  )
    put(sim, "op", await issued(pki, "op", cas[last], CLIENTS.operator), { [LABELS.cluster]: NAME });
  else return false;
  sim.tell(`the user heeds ${reason}`);
  return true;
}

/** Of the operator's own certificate: no other one is held to a name. */
const OF_ANOTHER_NAME = /\.client\.secrets\.operator: .*common name/;

function usersAreKnown({ cluster, env }: OperatorSimulation): boolean {
  return (
    cluster?.spec.auth?.enabled === true || env.world.network.all().some(({ dir }) => dir.state.auth.enabled)
  );
}

/** cert-manager and its issuers, from now on; another CA of one is put into the map. */
export async function certManagerIn({ env: { server, scheduler, clock } }: OperatorSimulation) {
  const pki = new ModelPki(clock, { last: 3_000_000 });
  const ca = (commonName: string) => pki.issueCa({ commonName, lifeMs: 1000 * DAY });
  const issuers = new Map([
    ["web", await ca("Issuer 1")],
    ["peers", await ca("Issuer 1")],
    ["clients", await ca("Issuer 1")],
  ]);
  return { ca, issuers, certManager: new ModelCertManager({ server, scheduler, pki, issuers }) };
}

/** As a user replaces it. */
export function put(
  sim: OperatorSimulation,
  name: string,
  files: Record<string, string>,
  labels: Record<string, string> = {},
): void {
  const data = Object.fromEntries(
    Object.entries(files).map(([file, text]) => [file, Buffer.from(text).toString("base64")]),
  );
  sim.user({ method: "DELETE", path: `${PATH}/${name}` });
  const body = { apiVersion: "v1", kind: "Secret", metadata: { name, namespace: NAMESPACE, labels }, data };
  assert.equal(sim.user({ method: "POST", path: PATH, body }).status, 201);
}

export async function givenWorld(tls: EtcdClusterSpecInput["tls"] = {}, seed = 3) {
  const spec = { replicas: 3, version: "3.6.16", tls: { ...GIVEN_TLS, ...tls } };
  const sim = new OperatorSimulation(spec, { seed });
  const pki = new ModelPki(sim.env.clock, { last: 1_000_000 });
  const ca = await pki.issueCa({ commonName: "Our company", lifeMs: 1000 * DAY });
  const issue = async (name: string, by: CaOfUser = ca) => await issued(pki, name, by);
  const condition = () => findCondition(sim.cluster?.status?.conditions, "TLSReady");
  return { sim, pki, ca, issue, tls: condition };
}
