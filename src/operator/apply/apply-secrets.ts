/**
 * The Secrets of a cluster: authorities first, then everybody's leaves, and with them each member's configuration
 * file, which is rewritten as soon as its record or the latch says something else (I3, H3).
 */
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import { isSecure } from "../../core/config/flags.ts";
import type { MemberRecord } from "../../core/record.ts";
import type { View } from "../../core/view.ts";
import { isControlledBy } from "../../kube/resources.ts";
import { authorityName, isPlaneInUse, PLANES, type Plane, type SecretsByName } from "./certificates.ts";
import { Contested } from "./contests.ts";
import { externalAddresses } from "../observe/external.ts";
import { findOne, keepCreated, keepSecret, relabel } from "./keep.ts";
import { secretNames } from "../names.ts";
import { partsOf } from "./not-made.ts";
import { configFile, FILES } from "../render/config.ts";
import { clusterLabels } from "../render/metadata.ts";
import { clientSecret, memberSecret, operatorSecret } from "../render/secret.ts";
import { secrets as secretResource } from "../resources.ts";
import type { ApplyContext, Tally } from "./tally.ts";

/** Common names: who a client is to etcd. */
const NAMES = { operator: "quorate-operator", user: "quorate-user" } as const;

/** Resolves with the members whose Secret is in place: only these may start. */
export async function applySecrets(
  context: ApplyContext,
  view: View,
  tally: Tally,
): Promise<ReadonlySet<string>> {
  const secrets: SecretsByName = new Map(
    context.stores.ownObjects(context.key).secrets.map((secret) => [secret.metadata?.name ?? "", secret]),
  );
  const ready = new Set<string>();
  const usable = new Set<Plane>();
  await Promise.all(
    planesOf(view).map((plane) =>
      tally.part(`the ${plane} CA`, async () => {
        if (await applyAuthority(context, view, plane, secrets, tally)) usable.add(plane);
      }),
    ),
  );
  const members = view.members.map(({ name }) =>
    tally.part(partsOf.secret(name), async () => {
      if (await applyMember(context, view, name, secrets, tally)) ready.add(name);
    }),
  );
  const clients = usable.has("client") ? [applyClients(context, view, secrets, tally)] : [];
  await Promise.all([...members, ...clients]);
  tally.problems.push(...context.certificates.problems);
  return ready;
}

/** Those that the spec asks for, and those that somebody still runs with. */
function planesOf({ spec, members }: View): Plane[] {
  const templates = [spec.tls, ...members.map(({ record }) => record.template.tls)];
  return PLANES.filter((plane) => templates.some((tls) => isSecure(tls, plane)));
}

async function applyAuthority(
  context: ApplyContext,
  view: View,
  plane: Plane,
  secrets: SecretsByName,
  tally: Tally,
): Promise<boolean> {
  const { certificates, client } = context;
  const { cluster } = view.observation;
  const name = authorityName(cluster, plane);
  const isOurs = (secret: Secret) => isControlledBy(secret, cluster.uid);
  const records = view.members.map(({ record }) => record);
  let known = secrets.get(name);
  if (known === undefined && isPlaneInUse(plane, records, secrets)) {
    const found = await findOne(client, secretResource, { name, namespace: cluster.namespace });
    if (!found || !isOurs(found)) {
      // Members trust the old one until they restart (R45): a new one now would part them from each other.
      const what = found ? "belongs to another owner" : "is gone";
      const message = `Secret ${cluster.namespace}/${name} ${what}, and members run with its certificates; restore it from a backup`;
      certificates.tellProblem(plane, message);
      return false;
    }
    known = await relabel(client, secretResource, clusterLabels(cluster), found);
  }
  const kept = known
    ? await keepCreated(client, secretResource, known, known, isOurs)
    : await keepCreated(
        client,
        secretResource,
        await certificates.newAuthority(cluster, plane),
        undefined,
        isOurs,
      );
  return tally.note(context, secretResource, kept) && certificates.useAuthority(cluster, plane, kept.object);
}

async function applyMember(
  context: ApplyContext,
  view: View,
  name: string,
  secrets: SecretsByName,
  tally: Tally,
): Promise<boolean> {
  const { cluster } = view.observation;
  const record = view.members.find((member) => member.name === name)?.record;
  if (record === undefined) return false;
  const known = secrets.get(name);
  const { services } = context.stores.ownObjects(context.key);
  const external = externalAddresses(cluster, services);
  const files = await context.certificates.memberFiles(cluster, record, known, external);
  if (files === undefined) return false;
  const wanted = memberSecret(cluster, record, {
    ...files,
    [FILES.config]: configFile(record, view.established),
  });
  try {
    const asked = context.certificates.namesOf(name);
    const kept = await keepSecret(context.client, wanted, known, record.uid, context.contests, asked);
    return tally.note(context, secretResource, kept);
  } catch (error) {
    if (!(error instanceof Contested) || !known || !canStartFrom(context, record, known, wanted)) throw error;
    // Another owner of a field must not keep a member from being started that could be.
    tally.problems.push(`${partsOf.secret(name)}: ${error.message}`);
    return true;
  }
}

/** Not as it should be, and good enough: what it says to etcd and whom it trusts is as wanted, and its leaves are valid. */
function canStartFrom(
  { certificates }: Pick<ApplyContext, "certificates">,
  record: MemberRecord,
  found: Secret,
  wanted: Secret,
): boolean {
  const exact: readonly string[] = [FILES.config, FILES.clientCA, FILES.peerCA];
  const isThere = ([file, text]: readonly [string, string]) =>
    exact.includes(file) ? found.data?.[file] === text : found.data?.[file] !== undefined;
  return Object.entries(wanted.data ?? {}).every(isThere) && certificates.areValid(record, found);
}

async function applyClients(
  context: ApplyContext,
  view: View,
  secrets: SecretsByName,
  tally: Tally,
): Promise<void> {
  const { cluster } = view.observation;
  const names = secretNames(cluster.name);
  const keep = async (name: string, commonName: string, render: typeof clientSecret) => {
    const known = secrets.get(name);
    const files = await context.certificates.clientFiles(commonName, known);
    if (files === undefined) return;
    const kept = await keepSecret(
      context.client,
      render(cluster, files),
      known,
      cluster.uid,
      context.contests,
    );
    tally.note(context, secretResource, kept);
  };
  await Promise.all([
    tally.part(`Secret ${names.operator}`, () => keep(names.operator, NAMES.operator, operatorSecret)),
    tally.part(`Secret ${names.client}`, () => keep(names.client, NAMES.user, clientSecret)),
  ]);
}
