/**
 * The files of the Secrets of a cluster: authorities, everybody's leaves, and with them each member's configuration
 * file, which is rewritten as soon as its record or the latch says something else (I3, H3).
 */
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import { userSecretName } from "../../api/etcd-user.ts";
import type { UserFacts } from "../../core/auth/facts.ts";
import { isGiven, isSecure, modesInUse } from "../../core/config/flags.ts";
import type { MemberRecord } from "../../core/record.ts";
import type { View } from "../../core/view.ts";
import { Conflict } from "../../control/platform.ts";
import { problemOf } from "../../control/problem.ts";
import type { ClusterFacts } from "../../core/observation.ts";
import { isControlledBy } from "../../kube/resources.ts";
import { ANNOTATIONS, CLIENTS, memberSecretName, secretNames } from "../names.ts";
import { externalAddresses } from "../observe/external.ts";
import { configFile, FILES, isTokenKeyFile } from "../render/config.ts";
import { clusterLabels } from "../render/metadata.ts";
import { clientSecret, memberSecret, operatorSecret, passwordSecret, userSecret } from "../render/secret.ts";
import { usersFor } from "../records/auth-object.ts";
import { secrets as secretResource } from "../resources.ts";
import type { Plane } from "../../pki/plan.ts";
import { hex } from "../../seams/random.ts";
import type { Certificates } from "./certificates.ts";
import { isPlaneInUse, secretsByName, textIn } from "./secret-files.ts";
import { Contested } from "./contests.ts";
import { givenSecret, spareIn } from "./given.ts";
import { findOne, keepCreated, keepSecret, relabel, UNCONTESTED } from "./keep.ts";
import { partsOf } from "./not-made.ts";
import type { ApplyContext, Outcomes } from "./outcomes.ts";
import { keepTokenKeys, tokenFiles } from "./token-keys.ts";
import type { Policy } from "./wanted-object.ts";

type Issue = Extract<Policy, { do: "issue" }>;

/** True when the Secret is in place; a member may start from then on. */
export async function issueSecret(
  context: ApplyContext,
  view: View,
  wanted: Issue,
  outcomes: Outcomes,
): Promise<boolean> {
  const { known, isOurs, secret } = wanted;
  if (secret.of === "authority") return await issueAuthority(context, view, wanted, secret.plane, outcomes);
  if (secret.of === "member") return await issueMember(context, view, wanted, secret.record, outcomes);
  if (secret.of === "password") return await makePassword(context, view, wanted, secret.user, outcomes);
  if (secret.of === "user") return await issueUser(context, view, wanted, secret.user, outcomes);
  if (secret.of === "token") return await keepTokenKeys(context, view, wanted, outcomes);
  const { client, certificates, contests } = context;
  const files = await certificates.clientFiles(view.observation.cluster, secret.commonName, known);
  if (files === undefined) return false;
  const object = secret.render(view.observation.cluster, files);
  return outcomes.note(secretResource, await keepSecret(client, object, known, isOurs, contests));
}

/** What goes wrong here is also told to the user whose certificate it is. */
async function issueUser(
  { client, certificates, contests }: ApplyContext,
  view: View,
  { known, isOurs }: Issue,
  user: UserFacts,
  outcomes: Outcomes,
): Promise<boolean> {
  const { cluster } = view.observation;
  try {
    const files = await certificates.users.files(cluster, user, known);
    const kept =
      files && (await keepSecret(client, userSecret(cluster, user, files), known, isOurs, contests));
    const isThere = kept !== undefined && outcomes.note(secretResource, kept);
    certificates.users.note(user.object, undefined);
    return isThere;
  } catch (error) {
    certificates.users.note(user.object, error instanceof Error ? error.message : String(error));
    throw error;
  }
}

const PASSWORD_BYTES = 24;

/** Made once; who deletes it gets another password. */
async function makePassword(
  { client, random }: ApplyContext,
  view: View,
  { name, known, isOurs }: Issue,
  user: string,
  outcomes: Outcomes,
): Promise<boolean> {
  const password = known === undefined ? hex(random, PASSWORD_BYTES) : "";
  const object = passwordSecret(view.observation.cluster, name, user, password);
  return outcomes.note(secretResource, await keepCreated(client, secretResource, object, known, isOurs));
}

async function issueAuthority(
  { certificates, client, stores, key }: ApplyContext,
  view: View,
  { name, known: cached, isOurs }: Issue,
  plane: Plane,
  outcomes: Outcomes,
): Promise<boolean> {
  const { cluster } = view.observation;
  const records = view.members.map(({ record }) => record);
  const secrets = secretsByName(stores.ownObjects(key).secrets);
  let known = cached;
  // Of a plane whose certificates were given until now, the CA that its members run with is known from them alone.
  if (known === undefined && records.some(({ template }) => isGiven(template.tls, plane))) {
    const held = await givenSecret({ client, stores, key }, view, plane, outcomes);
    return held !== undefined && certificates.useAuthority(cluster, plane, held);
  }
  if (known === undefined && isPlaneInUse(plane, records, secrets)) {
    const found = await findOne(client, secretResource, { name, namespace: cluster.namespace });
    if (!found || !isOurs(found)) {
      // Members trust the old one until they restart (R45): a new one now would part them from each other.
      const what = found ? "belongs to another owner" : "is gone";
      const message = `Secret ${cluster.namespace}/${name} ${what}, and members run with its certificates; restore it from a backup`;
      certificates.keeper.report(plane, message);
      return false;
    }
    known = await relabel(client, secretResource, clusterLabels(cluster), found);
  }
  const wanted = known ?? (await certificates.newAuthority(cluster, plane));
  const kept = await keepCreated(client, secretResource, wanted, known, isOurs);
  if (!outcomes.note(secretResource, kept)) return false;
  return certificates.useAuthority(cluster, plane, kept.object, { spare: spareIn(plane, records, secrets) });
}

async function issueMember(
  { certificates, client, stores, key, contests }: ApplyContext,
  view: View,
  { known, isOurs }: Issue,
  record: MemberRecord,
  outcomes: Outcomes,
): Promise<boolean> {
  const { cluster } = view.observation;
  const external = externalAddresses(cluster, stores.ownObjects(key).services);
  const config = configFile(record, view.established);
  const isFirst = known !== undefined && isFirstFileOfAJoined(record, known, config);
  const token = tokenFiles({ stores, key }, cluster, record);
  if (token === undefined) return false;
  const files = await certificates.memberFiles(cluster, record, known, external, isFirst ? "server" : "none");
  if (files === undefined) return false;
  const pem = files[FILES.serverPem];
  const proof =
    isFirst && pem !== undefined && pem !== textIn(known, FILES.serverPem)
      ? { [ANNOTATIONS.joinedCertificate]: certificates.fingerprintOf(pem) }
      : undefined;
  const wanted = memberSecret(cluster, record, { ...files, ...token, [FILES.config]: config }, proof);
  try {
    const asked = certificates.namesOf(record.name);
    const kept = await keepSecret(client, wanted, known, isOurs, contests, asked);
    return outcomes.note(secretResource, kept);
  } catch (error) {
    if (!(error instanceof Contested) || !known || !canStartFrom(certificates, record, known, wanted))
      throw error;
    // Another owner of a field must not keep a member from being started that could be.
    outcomes.problems.push(problemOf(partsOf.secret(record.name), error));
    return true;
  }
}

/** Other certificates for a member, written into its Secret at once: an operation asked for them. */
export async function reissueMember(
  { certificates, client, stores, key }: ApplyContext,
  cluster: ClusterFacts,
  record: MemberRecord,
): Promise<void> {
  const { secrets, services } = stores.ownObjects(key);
  const name = memberSecretName(record.name);
  const known = secrets.find(({ metadata }) => metadata?.name === name);
  const external = externalAddresses(cluster, services);
  const files = await certificates.memberFiles(cluster, record, known, external, "all");
  const config = known && textIn(known, FILES.config);
  const token = tokenFiles({ stores, key }, cluster, record);
  if (!known || !files || !token || config === undefined)
    throw new Conflict(`the certificates of ${record.name} cannot be issued now`);
  const wanted = memberSecret(cluster, record, { ...files, ...token, [FILES.config]: config });
  const isOurs = (found: Secret) => isControlledBy(found, record.uid);
  const { done } = await keepSecret(client, wanted, known, isOurs, UNCONTESTED);
  if (done !== "changed") throw new Conflict(`Secret ${name} is gone or belongs to another owner`);
}

/** Other certificates for the operator and the users. */
export async function reissueClients(
  { certificates, client, stores, key }: ApplyContext,
  cluster: ClusterFacts,
  records: readonly MemberRecord[],
): Promise<void> {
  const { secrets } = stores.ownObjects(key);
  // Clients use them until the last member has stopped serving TLS.
  if (!modesInUse("client", cluster.spec.tls, records).includes("Managed")) return;
  const own = secretNames(cluster.name);
  for (const { name, commonName, render } of [
    { name: own.operator, commonName: CLIENTS.operator, render: operatorSecret },
    { name: own.client, commonName: CLIENTS.user, render: clientSecret },
  ]) {
    const known = secrets.find(({ metadata }) => metadata?.name === name);
    const files = await certificates.clientFiles(cluster, commonName, undefined);
    if (!files) throw new Conflict(`the certificate of ${commonName} cannot be issued now`);
    const isOurs = (found: Secret) => isControlledBy(found, cluster.uid);
    await keepSecret(client, render(cluster, files), known, isOurs, UNCONTESTED);
  }
  for (const user of usersFor(stores.usersOf(key)).filter(({ certificate }) => certificate)) {
    const known = secrets.find(({ metadata }) => metadata?.name === userSecretName(user.object));
    // One that has none yet is given one by and by.
    if (!known || !isControlledBy(known, user.uid)) continue;
    const files = await certificates.users.files(cluster, user, undefined);
    if (!files) throw new Conflict(`the certificate of EtcdUser ${user.object} cannot be issued now`);
    const isOurs = (found: Secret) => isControlledBy(found, user.uid);
    await keepSecret(client, userSecret(cluster, user, files), known, isOurs, UNCONTESTED);
  }
}

/**
 * From this write on a restart must find another file (H3), and a certificate that comes with it proves that it does: a
 * kubelet replaces all files of a Secret at once, and etcd shows the certificate that is there (R45).
 */
function isFirstFileOfAJoined(record: MemberRecord, known: Secret, config: string): boolean {
  return (
    record.joined &&
    isSecure(record.template.tls, "client") &&
    known.metadata?.annotations?.[ANNOTATIONS.joinedCertificate] === undefined &&
    textIn(known, FILES.config) !== config
  );
}

/** Not as it should be, and good enough: what it says to etcd and whom it trusts is as wanted, and its leaves are valid. */
function canStartFrom(
  certificates: Certificates,
  record: MemberRecord,
  found: Secret,
  wanted: Secret,
): boolean {
  const exact: readonly string[] = [FILES.config, FILES.clientCA, FILES.peerCA];
  const isThere = ([file, text]: readonly [string, string]) =>
    exact.includes(file) || isTokenKeyFile(file)
      ? found.data?.[file] === text
      : found.data?.[file] !== undefined;
  return Object.entries(wanted.data ?? {}).every(isThere) && certificates.areValid(record, found);
}
