/** Which cluster or member a verb means, and what is said when there is none of that name. */
import type { EtcdMember } from "../../api/etcd-member.ts";
import { nearest } from "../../api/suggest.ts";
import { CommandError, EXIT } from "../exit.ts";
import { UsageError } from "../io.ts";
import type { ClusterObject, Target } from "./target.ts";

const MOST_NAMES = 12;

/** The cluster of this name; without a name, the only one there is. */
export async function chosenCluster(target: Target, name: string | undefined): Promise<ClusterObject> {
  if (name !== undefined) return await target.cluster(name);
  const clusters = await target.clusters();
  const [only] = clusters;
  if (only === undefined) throw noCluster(target);
  if (clusters.length === 1) return await target.cluster(only.metadata.name);
  throw new UsageError(
    `there are ${clusters.length} clusters ${target.where}; name one of them: ${listed(clusters.map(({ metadata }) => metadata.name))}`,
  );
}

export function noCluster({
  kind,
  where,
  command,
}: Pick<Target, "kind" | "where" | "command">): CommandError {
  const next =
    kind === "local"
      ? `Start one with: ${command} local up`
      : `Create one with kubectl apply, or look in all namespaces with: ${command} list -A`;
  return new CommandError(EXIT.notFound, `there is no EtcdCluster ${where}. ${next}`);
}

/** For a name that does not exist among those that do. */
export function noSuch(
  what: "cluster" | "member" | "operation" | "approval",
  name: string,
  names: readonly string[],
  where: string,
): CommandError {
  const near = nearest(name, names) ?? names.find((known) => known.startsWith(name));
  // demo-9 is as near to demo-1 as to demo-2: which of them was meant nobody can say.
  const isOrdinal = near !== undefined && withoutOrdinal(near) === withoutOrdinal(name);
  const hint =
    near !== undefined && !isOrdinal
      ? `did you mean ${near}?`
      : names.length > 0
        ? `there ${names.length === 1 ? "is" : "are"} ${listed(names)}`
        : `there is no ${what} at all`;
  return new CommandError(EXIT.notFound, `no ${what} is named ${JSON.stringify(name)} ${where}; ${hint}`);
}

export async function chosenMember(
  target: Target,
  cluster: ClusterObject,
  name: string,
): Promise<EtcdMember> {
  const members = await target.members(cluster);
  const found = members.find(({ metadata }) => metadata.name === name);
  if (found) return found;
  const names = members.map(({ metadata }) => metadata.name);
  throw noSuch("member", name, names, `in cluster ${cluster.metadata.name}`);
}

function withoutOrdinal(name: string): string {
  return name.replace(/-\d+$/, "");
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, MOST_NAMES).join(", ");
  return names.length > MOST_NAMES ? `${shown} and ${names.length - MOST_NAMES} more` : shown;
}
