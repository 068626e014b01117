/** `quorate recover node --siblings`: a member starts on its machine as it was, with those of other machines. */
import path from "node:path";
import type { NodeFound } from "../../../recovery/node/found.ts";
import type { ServingSiblings } from "../../../recovery/node/serve.ts";
import {
  listenPeerURL,
  siblingPlan,
  UnfitSiblings,
  type SiblingPlan,
} from "../../../recovery/node/siblings.ts";
import { systemDisk } from "../../../seams/disk.ts";
import { commandOf } from "../../called.ts";
import { CommandError, EXIT } from "../../exit.ts";
import { UsageError, type CliIo } from "../../io.ts";
import { formatted } from "../../output.ts";
import { memberLines, siblingLines } from "../../screen/node.ts";
import { fileOf, servingOf, versionFor, type NodeFlags } from "./node-flags.ts";
import { assertNeverAlone, assertSamePlan } from "./node-safety.ts";

export async function withSiblings(
  io: CliIo,
  found: NodeFound,
  given: string,
  flags: NodeFlags,
): Promise<number> {
  if (found.kind !== "member" || found.member.facts.state !== "data")
    throw new CommandError(
      EXIT.failed,
      `--siblings needs one directory of a member that etcd can start from, and ${given} is none. See what is there: ${commandOf(io)} recover node ${given}`,
    );
  if (flags.to !== undefined || flags["listen-peer"] !== undefined)
    throw new UsageError(
      "with --siblings the member starts in its own directory and at its own peer URL: leave out --to and --listen-peer",
    );
  const { member } = found;
  const { facts } = found.member;
  await assertNeverAlone(systemDisk, member.workBase);
  const version = versionFor(flags["etcd-version"], facts.database.storageVersion);
  const plan = fitting(() => siblingPlan(member, facts, version, flags.siblings));
  const asked = `${given} --siblings ${flags.siblings.join(",")}`;
  if (flags.plan === undefined) {
    const approve = `${commandOf(io)} recover node ${asked} --plan ${plan.hash} --manifests /etc/kubernetes/manifests (or --foreground)`;
    const text = () => [...memberLines(member), ...siblingLines(plan, approve)].join("\n");
    io.stdout.write(await formatted({ data: { ...found, plan }, text }, flags.output));
    return EXIT.done;
  }
  assertSamePlan(io, plan, flags.plan, asked);
  const serving = {
    ...servingOf(plan.name, plan.dataDir, flags, io),
    peerURL: listenPeerURL(plan),
    siblings: siblingsOf(plan, flags, io),
  };
  const { serve } = await import("./node-start.ts");
  const workDir = path.join(member.workBase, `siblings-${plan.hash}`);
  await systemDisk.makeDirectory(workDir);
  return await serve(io, flags, { plan, workDir, serving });
}

function fitting(make: () => SiblingPlan): SiblingPlan {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof UnfitSiblings)) throw error;
    throw new CommandError(EXIT.conflict, `${error.message}. Nothing was done`, { cause: error });
  }
}

function siblingsOf(
  { peerURL, members, siblings }: SiblingPlan,
  flags: NodeFlags,
  io: CliIo,
): ServingSiblings {
  const [cert, key, ca] = (["peer-cert-file", "peer-key-file", "peer-trusted-ca-file"] as const).map((flag) =>
    fileOf(io, flags[flag]),
  );
  const isWhole = cert !== undefined && key !== undefined && ca !== undefined;
  if (peerURL.startsWith("https:") !== isWhole || (!isWhole && (cert ?? key ?? ca) !== undefined))
    throw new UsageError(
      `the peer URL of this member is ${peerURL}: ${peerURL.startsWith("https:") ? "pass --peer-cert-file, --peer-key-file and --peer-trusted-ca-file, of certificates that its siblings accept" : "leave out the certificates for siblings, which it does not use"}`,
    );
  return {
    advertised: peerURL,
    initialCluster: members,
    ...(isWhole && { tls: { cert, key, ca } }),
    addresses: siblings.flatMap(({ peerURL: url, address }) =>
      address === undefined ? [] : [{ host: new URL(url).hostname, address }],
    ),
  };
}
