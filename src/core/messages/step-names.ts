/** A step in a few words, as plans, transcripts and logs show it. */
import type { Act } from "../action.ts";
import { sayChange } from "./auth-words.ts";

export function describeStep({ action }: Pick<Act, "action">): string {
  switch (action.kind) {
    case "UpdateMember":
      return `${action.purpose} ${action.member}`;
    case "MarkCluster":
      return `mark ${action.purpose}`;
    case "Compact":
      return `compact to revision ${action.revision}`;
    case "Disarm":
      return `disarm ${action.alarm}`;
    case "CompareHashes":
      return "compare hashes";
    case "EnableDowngrade":
      return `enable downgrade to ${action.version}`;
    case "CancelDowngrade":
      return "cancel downgrade";
    case "AdvanceLog":
      return "advance the log";
    case "NudgeLog":
      return "nudge the log";
    case "RescueData":
      return `rescue the data of ${action.member}`;
    case "FetchSnapshot":
      return "fetch and check the snapshot";
    case "FinishDeletion":
      return "finish deletion";
    case "RotateAuthority":
      return `${action.turn === "Replace" ? "replace" : ROTATES[action.to]} ${action.plane} CA`;
    case "ReissueCertificates":
      return `reissue certificates of ${action.member ?? "operator and users"}`;
    case "CreateOperation":
      return `create operation ${action.operation}`;
    case "UpdateOperation":
      return `${action.purpose} operation ${action.operation}`;
    case "DeleteOperation":
      return `delete operation ${action.operation}`;
    case "ChangeAuth":
      return sayChange(action.change);
    case "UpdateAuthObject":
      return `note on ${action.of} ${action.name}`;
    default:
      return `${words(action.kind)} ${action.member}`;
  }
}

const ROTATES = {
  Bundle: "create successor of",
  Reissue: "issue certificates by new",
  Drop: "retire old",
  Steady: "drop old",
} as const;

function words(kind: string): string {
  return kind.replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
}
