/** What EtcdUser and EtcdRole share: the cluster that they belong to, their name in etcd, and their status. */
import { z } from "zod";
import { CLUSTER_NAME_PATTERN, LONGEST_CLUSTER_NAME } from "./etcd-cluster.ts";
import { conditionsSchema } from "./metadata.ts";
import { withRules, type Rule } from "./rule.ts";
import { int, text } from "./scalars.ts";

const clusterNamed: Rule<string> = {
  cel: `self.matches('${CLUSTER_NAME_PATTERN}')`,
  message:
    "must be the name of an EtcdCluster: lower-case letters, digits and dashes, starting with a letter and ending with a letter or digit",
  check: (cluster) => new RegExp(CLUSTER_NAME_PATTERN).test(cluster),
};

export const dependentFields = {
  cluster: withRules(text(LONGEST_CLUSTER_NAME), clusterNamed).describe(
    "Name of the EtcdCluster, in the same namespace. Cannot be changed.",
  ),
};

interface Kept {
  readonly cluster: string;
  readonly name?: string | undefined;
}

export const keptCluster: Rule<Kept> = {
  cel: "self.cluster == oldSelf.cluster",
  transition: true,
  fieldPath: ".cluster",
  message: "cluster cannot be changed: delete the object and create one for the other cluster",
  check: ({ cluster }, old) => old === undefined || cluster === old.cluster,
};

export const keptName: Rule<Kept> = {
  cel: "has(self.name) == has(oldSelf.name) && (!has(self.name) || self.name == oldSelf.name)",
  transition: true,
  fieldPath: ".name",
  message: "name cannot be changed, because etcd knows it by that name: delete the object and create another",
  check: ({ name }, old) => old === undefined || name === old.name,
};

interface Named {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly name?: string | undefined };
}

/** The name in etcd. */
export function effectiveName({ metadata, spec }: Named): string {
  return spec.name ?? metadata.name;
}

export function nameFits(longest: number): Rule<Named> {
  return {
    cel: `has(self.spec.name) || size(self.metadata.name) <= ${longest}`,
    fieldPath: ".metadata.name",
    message: `metadata.name is the name in etcd and may have at most ${longest} characters: choose a shorter one, or set spec.name`,
    check: ({ metadata, spec }) => spec.name !== undefined || metadata.name.length <= longest,
  };
}

export const authObjectStatusSchema = z.strictObject({
  observedGeneration: int(-1, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe("The generation of the spec that this status is about; -1 until the operator has seen it."),
  name: text(64).optional().describe("Its name in etcd."),
  reason: text(64).optional().describe("Whether it is applied, or why not: one word for machines."),
  message: text(1024).optional().describe("The same as a sentence."),
  conditions: conditionsSchema
    .optional()
    .describe(
      "Ready (etcd has it as described), Reconciling (it is being applied), Stalled (something has to be corrected first).",
    ),
});

export type AuthObjectStatus = z.output<typeof authObjectStatusSchema>;
