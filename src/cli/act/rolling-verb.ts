/** Verbs that ask the operator to do one thing to members one at a time: those that are named, or all of a cluster. */
import type { EtcdOperationSpec } from "../../api/etcd-operation.ts";
import { clusterVerb } from "../verb.ts";
import { confirm } from "./confirm.ts";
import { headroom } from "./headroom.ts";
import { newOperation, runOperation } from "./operation.ts";
import { namesOf, subjectOf } from "./subject.ts";

interface Rolling {
  readonly name: string;
  readonly summary: string;
  readonly about: string;
  /** Whom it is done to when no member is named. */
  readonly all: "members" | "voters";
  /** What is done, as the help and the report of it say. */
  readonly does: { readonly verb: string; readonly now: string };
  /** What a member lacks meanwhile. */
  readonly risk: string;
  readonly operation: (members: { readonly members?: string[] }) => Partial<EtcdOperationSpec>;
}

export function rollingVerb({ name: verb, summary, about, all, does, risk, operation }: Rolling) {
  return clusterVerb(
    {
      name: verb,
      summary,
      about: `Creates an EtcdOperation. ${about}`,
      arguments: [
        {
          name: "names",
          help: `members to ${does.verb}, or the cluster for all of its ${all}`,
          optional: true,
          many: true,
          complete: "subject",
        },
      ],
      groups: ["confirm", "wait", "dry", "output", "target"],
      examples: [
        { does: `All ${all} of a cluster`, line: `${verb} demo` },
        { does: "One member", line: `${verb} demo-2 --yes` },
      ],
    },
    async ({ flags, args }, io, target) => {
      const { cluster, named } = await subjectOf(target, args.names);
      const members = namesOf(named);
      const whom = members.length === 0 ? `all ${all} of ${cluster.metadata.name}` : members.join(", ");
      const change = `${does.now} ${whom}`;
      const task = newOperation(io, cluster, verb, operation(members.length === 0 ? {} : { members }));
      if (!flags["dry-run"])
        await confirm(io, flags, {
          change,
          risk: `one member at a time ${risk}; ${headroom(cluster)} now`,
        });
      await runOperation(io, flags, target, task, change);
    },
  );
}
