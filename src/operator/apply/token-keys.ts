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
import type { Policy } from "./wanted.ts";

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

/** For the Secret of a member: nothing where it signs no tokens, undefined while its key is not there. */
export function tokenFiles(
  { stores, key }: Pick<ApplyContext, "stores" | "key">,
  cluster: Pick<ClusterFacts, "name" | "uid">,
  { template }: MemberRecord,
): Record<string, string> | undefined {
  const number = signingKey(template);
  if (number === undefined) return {};
  const { secrets } = stores.ownObjects(key);
  const name = secretNames(cluster.name).tokenKeys;
  const found = secrets.find(({ metadata }) => metadata?.name === name);
  const file = tokenKeyFile(number);
  const text = found && isControlledBy(found, cluster.uid) ? textIn(found, file) : undefined;
  return text ? { [file]: text } : undefined;
}
