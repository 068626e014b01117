/** `quorate member replace`: a new member takes the place of this one. */
import { headroom } from "../act/headroom.ts";
import { newOperation, runOperation } from "../act/operation.ts";
import { onlyMember } from "../act/subject.ts";
import { confirm } from "../act/confirm.ts";
import { clusterVerb } from "../verb.ts";

export const verb = clusterVerb(
  {
    name: "member replace",
    summary: "replace a member with a new one on a new volume",
    about:
      "Creates an EtcdOperation. The new member joins and is promoted, then the old one is removed; one that is broken is removed first. A fence of the old member does not pass to the new one.",
    arguments: [{ name: "member", help: "name of the member", complete: "member" }],
    groups: ["confirm", "wait", "dry", "output", "target"],
    examples: [{ does: "Replace a member whose disk is suspect", line: "member replace demo-2" }],
  },
  async ({ flags, args }, io, target) => {
    const { cluster, member } = await onlyMember(target, args.member);
    const { name } = member.metadata;
    const what = `Replacing ${name}`;
    const volumes = cluster.spec.storage?.retention?.onScaleIn === "Retain" ? "retained" : "deleted";
    if (!flags["dry-run"])
      await confirm(io, flags, {
        change: what,
        risk: `a new member copies the data, then ${name} is removed and its volume ${volumes}; ${headroom(cluster)} now`,
      });
    const operation = newOperation(io, cluster, "replace", { replaceMember: { name } });
    await runOperation(io, flags, target, operation, what);
  },
);
