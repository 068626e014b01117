/** `quorate member fence` and `unfence`: clients and leadership away from a member that keeps running, and back. */
import type { EtcdMember } from "../../api/etcd-member.ts";
import { ANNOTATIONS } from "../../operator/names.ts";
import { isFenced } from "../../operator/records/member-object.ts";
import { changeMember } from "../act/change.ts";
import { Progress, until } from "../act/progress.ts";
import { printResult } from "../act/result.ts";
import { heldByPause, unseen, printWritten } from "../act/settled.ts";
import { onlyMember } from "../act/subject.ts";
import { confirm } from "../act/confirm.ts";
import type { ClusterObject } from "../target/target.ts";
import { clusterVerb } from "../verb.ts";

const MEMBER = { name: "member", help: "name of the member", complete: "member" } as const;

export const fence = clusterVerb(
  {
    name: "member fence",
    summary: "keep clients and leadership away from a member without stopping it",
    about:
      "The member keeps running and voting. The client Service (on a machine: env) leaves it out, and leadership moves to a healthy voter that is not fenced. A member that replaces it is not fenced.",
    arguments: [MEMBER],
    groups: ["confirm", "wait", "dry", "output", "target"],
    examples: [{ does: "Before work on the disk of a member", line: "member fence demo-2" }],
  },
  async ({ flags, args }, io, target) => {
    const { cluster, member, members } = await onlyMember(target, args.member);
    const { name } = member.metadata;
    if (isFenced(member)) return await printResult(io, flags, `${name} is fenced already`, member);
    if (flags["dry-run"]) return await printResult(io, flags, `Fencing ${name}`, patchOf("true"));
    if (isLastOpen(members, member))
      await confirm(io, flags, {
        change: `Fencing ${name}`,
        risk: "every other voter is fenced, so clients will have no endpoint",
      });
    const { object } = await changeMember(target, cluster, member, (now) =>
      isFenced(now) ? undefined : patchOf("true"),
    );
    if (flags["no-wait"]) {
      const what = `the fence of ${name} is recorded`;
      return await printWritten(io, flags, { target, cluster, what }, `Fencing ${name}`, object);
    }
    const end = await until(
      io,
      flags,
      new Progress(io),
      async () => {
        const now = await target.cluster(cluster.metadata.name);
        if (now.spec.paused) throw heldByPause(target, now, `the fence of ${name} is recorded`);
        if (!fencedIn(now, name)) return { doing: unseen(target) };
        const { leader } = now.status ?? {};
        if (isLastOpen(members, member) || now.spec.replicas === 0) return { done: now };
        if (leader === undefined) return { doing: "waiting for a leader" };
        return leader === name ? { doing: `moving leadership from ${name}` } : { done: now };
      },
      `The fence remains. See: ${target.command} members ${cluster.metadata.name}${target.flags}`,
    );
    const { leader } = end.status ?? {};
    await printResult(io, flags, `${name} is fenced${leader === undefined ? "" : `; ${leader} leads`}`, end);
  },
);

export const unfence = clusterVerb(
  {
    name: "member unfence",
    summary: "let clients and leadership return to a fenced member",
    arguments: [MEMBER],
    groups: ["wait", "dry", "output", "target"],
    examples: [{ does: "After work on the disk of a member", line: "member unfence demo-2" }],
  },
  async ({ flags, args }, io, target) => {
    const { cluster, member } = await onlyMember(target, args.member);
    const { name } = member.metadata;
    if (!isFenced(member)) return await printResult(io, flags, `${name} is not fenced`, member);
    if (flags["dry-run"]) return await printResult(io, flags, `Unfencing ${name}`, patchOf(null));
    const { object } = await changeMember(target, cluster, member, (now) =>
      isFenced(now) ? patchOf(null) : undefined,
    );
    if (flags["no-wait"]) {
      const what = `the end of the fence of ${name} is recorded`;
      return await printWritten(io, flags, { target, cluster, what }, `Unfencing ${name}`, object);
    }
    const end = await until(
      io,
      flags,
      new Progress(io),
      async () => {
        const now = await target.cluster(cluster.metadata.name);
        if (!fencedIn(now, name)) return { done: now };
        if (now.spec.paused) throw heldByPause(target, now, `the end of the fence of ${name} is recorded`);
        return { doing: unseen(target) };
      },
      `See: ${target.command} members ${cluster.metadata.name}${target.flags}`,
    );
    await printResult(
      io,
      flags,
      `${name} is no longer fenced: clients are sent to it again, and it may lead`,
      end,
    );
  },
);

function patchOf(value: string | null) {
  return { annotations: { [ANNOTATIONS.fence]: value } };
}

function fencedIn({ status }: ClusterObject, name: string): boolean {
  return status?.members?.find((member) => member.name === name)?.fenced === true;
}

/** No other voter is left for clients. */
function isLastOpen(members: readonly EtcdMember[], member: EtcdMember): boolean {
  const others = members.filter(
    (one) => one.metadata.name !== member.metadata.name && one.spec.role === "Voter",
  );
  return member.spec.role === "Voter" && others.every(isFenced);
}
