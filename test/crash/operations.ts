/**
 * The operations that are interrupted after every one of their effects. Those that lead to and fro share a
 * cluster, so that each is tried again on what the crashes before it left.
 */
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import type { EtcdOperationSpec } from "../../src/api/etcd-operation.ts";
import { OPERATIONS, type OperationName } from "../../src/api/status-words.ts";
import type { View } from "../../src/core/view.ts";
import type { CrashLab } from "./lab.ts";

export interface Operation {
  readonly name: string;
  /** Asks for it while no controller runs. */
  readonly ask: (lab: CrashLab, before: View) => Promise<void>;
}

/** Operations that follow each other in a circle, beginning and ending with a settled cluster of `spec`. */
export interface Circle {
  readonly spec: EtcdClusterSpecInput;
  readonly operations: readonly Operation[];
}

const edits = (name: string, change: Partial<EtcdClusterSpecInput>): Operation => ({
  name,
  ask: (lab) => lab.edit(change),
});

/** Tasks that run once, by what an EtcdOperation calls them. */
const TASKS: { readonly [Name in OperationName]: (before: View) => NonNullable<EtcdOperationSpec[Name]> } = {
  defragment: () => ({}),
  compact: () => ({ retain: 0 }),
  moveLeader: (before) => ({ to: follower(before) }),
  restart: () => ({}),
  rotateCertificates: () => ({ ca: true }),
  replaceMember: (before) => ({ name: follower(before) }),
  recoverQuorum: () => ({ approve: "0123456789abcdef" }),
  // Rejected for want of an approval.
  restore: () => ({ source: { s3: { bucket: "backups", key: "demo.db" } } }),
  collectReport: () => ({}),
};

function follower({ members }: View): string {
  return members.find(({ isLeader, isVoter }) => isVoter && !isLeader)?.name ?? "";
}

const asks = (name: OperationName): Operation => ({
  name,
  ask: async (lab, before) => {
    await lab.edit({});
    await lab.operate({ [name]: TASKS[name](before) });
  },
});

const repair = { maxReplacementsPerHour: 60 };

export const circles: readonly Circle[] = [
  // From nothing, so it begins with a new cluster each time.
  { spec: { version: "3.6.16", replicas: 3 }, operations: [{ name: "create", ask: async () => undefined }] },
  {
    spec: { version: "3.6.16", replicas: 1 },
    operations: [edits("scale-out", { replicas: 3 }), edits("scale-in", { replicas: 1 })],
  },
  {
    spec: { version: "3.6.16", replicas: 3, repair },
    operations: [
      {
        name: "replace",
        ask: async (lab, before) => {
          await lab.edit({});
          await lab.wipe(before.members.at(-1)?.name ?? "");
        },
      },
    ],
  },
  {
    spec: { version: "3.6.16", replicas: 3, repair },
    operations: [
      {
        name: "replace-serving",
        ask: async (lab, before) => {
          await lab.edit({});
          await lab.store.markDeleting(before.members[0]?.name ?? "");
        },
      },
    ],
  },
  {
    spec: { version: "3.5.35", replicas: 3 },
    operations: [edits("upgrade", { version: "3.6.16" }), edits("downgrade", { version: "3.5.35" })],
  },
  {
    spec: { version: "3.6.16", replicas: 3 },
    operations: [edits("hibernate", { replicas: 0 }), edits("wake", { replicas: 3 })],
  },
  // Each on its own: one that is interrupted must not leave work to the next.
  ...OPERATIONS.map((name) => ({
    spec: { version: "3.6.16", replicas: 3, repair, tls: { rotation: { soak: "0s" } } },
    operations: [asks(name)],
  })),
];
