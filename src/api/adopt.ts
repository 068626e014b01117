/**
 * `spec.storage.adopt`: which volumes of a former life of the cluster it starts from.
 */
import { z } from "zod";
import { text } from "./scalars.ts";
import { withRules, type Rule } from "./rule.ts";

export const clusterIDFormat: Rule<string> = {
  cel: "self.matches('^[0-9a-f]{1,16}$')",
  message: "clusterID must be an ID as etcd prints it: 1 to 16 lower-case hexadecimal digits",
  check: (id) => /^[0-9a-f]{1,16}$/.test(id),
};

const directoryFormat: Rule<string> = {
  cel: "self.matches('^[a-z][a-z0-9-]*[.][0-9a-z-]+/[a-z][a-z0-9-]*-[1-9][0-9]{0,8}[.][0-9a-z-]+$')",
  message:
    "path must name the directory of a member below hostPath and the namespace, as <cluster>.<UID>/<member>.<UID>",
  check: (path) => /^[a-z][a-z0-9-]*[.][0-9a-z-]+\/[a-z][a-z0-9-]*-[1-9][0-9]{0,8}[.][0-9a-z-]+$/.test(path),
};

const directorySchema = z.strictObject({
  node: text(253).min(1).describe("Name of the Node that holds it."),
  path: withRules(text(200), directoryFormat).describe(
    "The directory of the member, below storage.hostPath and the namespace of the cluster, such as demo.5c7e0f7a-…/demo-1.0f4a91bb-….",
  ),
});

const adoptFields = z.strictObject({
  clusterID: withRules(text(16), clusterIDFormat)
    .optional()
    .describe(
      "The cluster ID of etcd, in hexadecimal: status.clusterID of the former cluster, the label etcd.quorate.dev/cluster-id of its claims, or what `quorate recover inspect` shows.",
    ),
  token: text(128)
    .min(1)
    .optional()
    .describe("The cluster token in the annotation etcd.quorate.dev/token of the claims."),
  directories: z
    .array(directorySchema)
    .min(1)
    .max(64)
    .meta({ "x-kubernetes-list-type": "atomic" })
    .optional()
    .describe(
      "With medium HostPath: where the directories of the members are, one for each. What they hold is read on their nodes before anything starts.",
    ),
});

export type Adopt = z.output<typeof adoptFields>;

const namesOne: Rule<Adopt> = {
  cel: "has(self.clusterID) != has(self.token)",
  message: "adopt must name the volumes either by clusterID or by token: set one of them",
  check: ({ clusterID, token }) => (clusterID !== undefined) !== (token !== undefined),
};

export const adoptSchema = withRules(adoptFields, namesOne);

interface Adopting {
  readonly medium: string;
  readonly adopt?: Adopt | undefined;
}

export const adoptDurable: Rule<Adopting> = {
  cel: "self.medium == 'Persistent' || self.medium == 'HostPath' || !has(self.adopt)",
  fieldPath: ".adopt",
  message:
    "adopt is used only with medium Persistent or HostPath: with Memory and Ephemeral the data ends with the Pods, so use bootstrap.restore",
  check: ({ medium, adopt }) => medium === "Persistent" || medium === "HostPath" || adopt === undefined,
};

/** Nothing of Kubernetes knows of a directory. */
export const adoptDirectories: Rule<Adopting> = {
  cel: "!has(self.adopt) || (self.medium == 'HostPath') == has(self.adopt.directories)",
  fieldPath: ".adopt",
  message:
    "adopt.directories is needed with medium HostPath, to say where the members' directories are, and is used with no other",
  check: ({ medium, adopt }) =>
    adopt === undefined || (medium === "HostPath") === (adopt.directories !== undefined),
};

export const adoptDirectoriesByID: Rule<Adopting> = {
  cel: "!has(self.adopt) || !has(self.adopt.directories) || has(self.adopt.clusterID)",
  fieldPath: ".adopt",
  message: "directories bear no token: name them by adopt.clusterID",
  check: ({ adopt }) => adopt?.directories === undefined || adopt.clusterID !== undefined,
};

export const adoptIsKept: Rule<Adopting> = {
  cel: "has(self.adopt) == has(oldSelf.adopt) && (!has(self.adopt) || self.adopt == oldSelf.adopt)",
  transition: true,
  fieldPath: ".adopt",
  message:
    "adopt can be set only when the EtcdCluster is created: delete the EtcdCluster with storage.retention.onDelete Retain, and create it again",
  check: ({ adopt }, old) =>
    old === undefined ||
    (adopt?.clusterID === old.adopt?.clusterID &&
      adopt?.token === old.adopt?.token &&
      placesOf(adopt) === placesOf(old.adopt)),
};

function placesOf(adopt: Adopt | undefined): string {
  return (adopt?.directories ?? []).map(({ node, path }) => `${node}:${path}`).join();
}

/** Each of them says where the data comes from. */
export const adoptOrRestore: Rule<{
  readonly storage: Adopting;
  readonly bootstrap?: unknown;
}> = {
  cel: "!has(self.storage.adopt) || !has(self.bootstrap)",
  fieldPath: ".bootstrap",
  message: "bootstrap.restore and storage.adopt both say where the data comes from: remove one of them",
  check: ({ storage, bootstrap }) => storage.adopt === undefined || bootstrap === undefined,
};
