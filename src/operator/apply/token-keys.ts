/**
 * The keys that members sign auth tokens with: made here, kept in one Secret of the cluster under their numbers, and
 * copied into the Secret of each member, which etcd reads at its start. One that nobody needs any more is removed.
 */
import type { Secret } from "kubernetes-types/core/v1.d.ts";
import { neededKeys, signingKey } from "../../core/auth/token.ts";
import type { ClusterFacts } from "../../core/observation.ts";
import type { MemberRecord } from "../../core/record.ts";
import type { View } from "../../core/view.ts";
import { isControlledBy } from "../../kube/resources.ts";
import { hex } from "../../seams/random.ts";
import { memberSecretName, secretNames } from "../names.ts";
import { tokenKeyFile } from "../render/config.ts";
import { tokenSecret } from "../render/secret.ts";
import { secrets as secretResource } from "../resources.ts";
import { keepCreated } from "./keep.ts";
import { mergePatch } from "./merge-patch.ts";
import type { ApplyContext, Outcomes } from "./outcomes.ts";
import { textIn } from "./secret-files.ts";
import type { Policy } from "./wanted-object.ts";

type Issue = Extract<Policy, { do: "issue" }>;

/** As hexadecimal text; HS256 takes no less than 32. */
const KEY_BYTES = 48;

/** Whether there is anything to keep: keys that somebody needs, or some that nobody needs any more. */
export function hasTokenKeys(view: View, known: Secret | undefined): boolean {
  return numbersFor(view).length > 0 || Object.keys(known?.data ?? {}).length > 0;
}

function numbersFor({ spec, observation: { cluster }, members }: View): number[] {
  const records = members.map(({ record }) => record);
  return neededKeys(spec, cluster.marks, records);
}

export async function keepTokenKeys(
  { client, random, stores, key }: ApplyContext,
  view: View,
  { known, isOurs }: Issue,
  outcomes: Outcomes,
): Promise<boolean> {
  const { cluster } = view.observation;
  const { secrets } = stores.ownObjects(key);
  // A key that is lost here is still with the members that sign with it; another one would part them from the others.
  const copyOf = (number: number) =>
    view.members.flatMap(({ record }) => {
      const name = memberSecretName(record.name);
      const found = secrets.find(({ metadata }) => metadata?.name === name);
      return (found && isControlledBy(found, record.uid) && textIn(found, tokenKeyFile(number))) || [];
    })[0];
  const wantedFor = (found: Secret | undefined) => {
    const keys = numbersFor(view).map((number): [string, string] => {
      const file = tokenKeyFile(number);
      const has = found && textIn(found, file);
      return [file, has || copyOf(number) || hex(random, KEY_BYTES)];
    });
    return tokenSecret(cluster, Object.fromEntries(keys));
  };
  const kept = await keepCreated(client, secretResource, wantedFor(known), known, isOurs);
  if (kept.done !== "unchanged") return outcomes.note(secretResource, kept);
  const data = mergePatch({ ...kept.object.data }, { ...wantedFor(kept.object).data });
  if (data === undefined) return outcomes.note(secretResource, kept);
  const { name = "", namespace = "", uid = "", resourceVersion = "" } = kept.object.metadata ?? {};
  const object = await client.patch(secretResource, { name, namespace }, { data }, { uid, resourceVersion });
  return outcomes.note(secretResource, { done: "changed", object });
}

type Cached = Pick<ApplyContext, "stores" | "key">;

/** For the Secret of a member: nothing where it signs no tokens, undefined while its key is nowhere. */
export function tokenFiles(
  context: Cached,
  cluster: Pick<ClusterFacts, "name" | "uid">,
  { name, uid, template }: Pick<MemberRecord, "name" | "uid" | "template">,
): Record<string, string> | undefined {
  const number = signingKey(template);
  if (number === undefined) return {};
  // What it has is good whatever became of the cluster's Secret: its certificates are renewed there all the same.
  const text =
    keyIn(context, secretNames(cluster.name).tokenKeys, cluster.uid, number) ||
    keyIn(context, memberSecretName(name), uid, number);
  return text ? { [tokenKeyFile(number)]: text } : undefined;
}

function keyIn({ stores, key }: Cached, name: string, owner: string, number: number): string | undefined {
  const found = stores.ownObjects(key).secrets.find(({ metadata }) => metadata?.name === name);
  return found && isControlledBy(found, owner) ? textIn(found, tokenKeyFile(number)) : undefined;
}

type Tried = Cached & Pick<ApplyContext, "waits">;

/** Why nobody can be started with the tokens that the spec asks for; undefined where they can, or need no key. */
export function missingKey(
  context: Tried,
  { name, namespace, uid, spec, marks }: ClusterFacts,
  records: readonly MemberRecord[],
): string | undefined {
  if (spec.auth?.token?.type !== "JWT") return undefined;
  const secret = secretNames(name).tokenKeys;
  const lacks = (number: number) => !keyIn(context, secret, uid, number);
  const missing = neededKeys(spec, marks, records).find(lacks);
  return missing === undefined ? undefined : sayMissing(context, `${namespace}/${secret}`, secret, missing);
}

/** Why this member has no Secret to start from, where it is for want of its key. */
export function memberLacksKey(context: Tried, member: string): string | undefined {
  const { stores, key } = context;
  const { name = "", namespace = "", uid = "" } = stores.cluster(key)?.metadata ?? {};
  const object = stores.member(`${namespace}/${member}`);
  const number = object && signingKey(object.spec.template);
  if (!object || number === undefined) return undefined;
  const record = { name: member, uid: object.metadata?.uid ?? "", template: object.spec.template };
  if (tokenFiles(context, { name, uid }, record)) return undefined;
  const secret = secretNames(name).tokenKeys;
  return sayMissing(context, `${namespace}/${secret}`, secret, number);
}

function sayMissing({ waits }: Tried, ref: string, secret: string, number: number): string {
  const why = waits.failureOf(tokenPart(secret));
  return `Secret ${ref} has no key ${number} to sign auth tokens with${why === undefined ? "" : `: ${why}`}`;
}

/** What the Secret is called in problems. */
export function tokenPart(secret: string): string {
  return `Secret ${secret}`;
}
