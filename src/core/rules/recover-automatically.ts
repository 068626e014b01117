/**
 * `recovery.quorumLoss: Automatic`: the plan of a recovery is approved without a person, when nothing speaks against it.
 * The approval is an EtcdOperation like a person's, which the rule `recover` judges and carries out like any other.
 */
import { automaticChoice, automaticName, automaticTries, isAutomatic } from "../assess/automatic-recovery.ts";
import { recoveryPlan } from "../assess/recovery-plan.ts";
import { isFinished } from "../operations/status.ts";
import { act } from "../steps/outcome.ts";
import type { Rule } from "../rule.ts";

export const recoverAutomatically: Rule = (view) => {
  if (!isAutomatic(view) || view.spec.replicas === 0) return [];
  const plan = recoveryPlan(view);
  const choice = plan && automaticChoice(view, plan);
  if (!choice || "manual" in choice) return [];
  const { cluster, operations } = view.observation;
  const asked = operations.filter(({ task }) => task.kind === "recoverQuorum" || task.kind === "restore");
  if (asked.some((operation) => !isFinished(operation))) return [];
  const { hash, survivor, lost } = plan;
  const number = 1 + Math.max(0, ...automaticTries(view, plan));
  const operation = `${automaticName(cluster.name, plan)}${number}`;
  const { approve } = choice;
  if (approve === "survivor")
    return [
      act(
        "heal",
        "RecoveryApproved",
        { operation, member: survivor.name, lost: lost?.most ?? 0 },
        { kind: "CreateOperation", operation, approve: hash },
      ),
    ];
  const { is, name, revision, restore, plan: approved = "" } = approve;
  return [
    act(
      "heal",
      "RestoreApproved",
      { operation, is, name, revision, lost: approve.lost ?? 0 },
      { kind: "CreateOperation", operation, approve: approved, restore: { ...restore, recovery: hash } },
    ),
  ];
};
