/**
 * `spec.storage.adopt`: which volumes of a former life of the cluster it starts from.
 */
import { z } from "zod";
import { text } from "./scalars.ts";
import { withRules, type Rule } from "./rule.ts";

const hexadecimal: Rule<string> = {
  cel: "self.matches('^[0-9a-f]{1,16}$')",
  message: "clusterID must be an ID as etcd prints it: 1 to 16 lower-case hexadecimal digits",
  check: (id) => /^[0-9a-f]{1,16}$/.test(id),
};

const adoptFields = z.strictObject({
  clusterID: withRules(text(16), hexadecimal)
    .optional()
    .describe(
      "The cluster ID of etcd, in hexadecimal: status.clusterID of the former cluster, the label etcd.quorate.dev/cluster-id of its claims, or what `quorate recover inspect` shows.",
    ),
  token: text(128)
    .min(1)
    .optional()
    .describe("The cluster token in the annotation etcd.quorate.dev/token of the claims."),
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

export const adoptOnlyPersistent: Rule<Adopting> = {
  cel: "self.medium == 'Persistent' || !has(self.adopt)",
  fieldPath: ".adopt",
  message:
    "adopt is used only with medium Persistent: to start from a directory of a node, make a snapshot of it (quorate recover node) and use bootstrap.restore",
  check: ({ medium, adopt }) => medium === "Persistent" || adopt === undefined,
};

export const adoptIsKept: Rule<Adopting> = {
  cel: "has(self.adopt) == has(oldSelf.adopt) && (!has(self.adopt) || self.adopt == oldSelf.adopt)",
  transition: true,
  fieldPath: ".adopt",
  message:
    "adopt can be set only when the EtcdCluster is created: delete the EtcdCluster with storage.retention.onDelete Retain, and create it again",
  check: ({ adopt }, old) =>
    old === undefined || (adopt?.clusterID === old.adopt?.clusterID && adopt?.token === old.adopt?.token),
};

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
