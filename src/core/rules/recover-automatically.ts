/**
 * `recovery.quorumLoss: Automatic`: the plan of a recovery is approved without a person, when nothing speaks against it.
 * The approval is an EtcdOperation like a person's, which the rule `recover` judges and carries out like any other.
 */
import { automaticName, automaticTries, isAutomatic, manualBecause } from "../assess/automatic-recovery.ts";
import { recoveryPlan } from "../assess/recovery-plan.ts";
import { isFinished } from "../operations/status.ts";
import { act } from "../outcome.ts";
import type { Rule } from "../rule.ts";

export const recoverAutomatically: Rule = (view) => {
  if (!isAutomatic(view) || view.spec.replicas === 0) return [];
  const plan = recoveryPlan(view);
  if (!plan || manualBecause(view, plan)) return [];
  const { cluster, operations } = view.observation;
  const asked = operations.filter(({ task }) => task.kind === "recoverQuorum");
  if (asked.some((operation) => !isFinished(operation))) return [];
  const { hash, survivor, lost } = plan;
  const number = 1 + Math.max(0, ...automaticTries(view, plan));
  const operation = `${automaticName(cluster.name, plan)}${number}`;
  return [
    act(
      "heal",
      "RecoveryApproved",
      { operation, member: survivor.name, lost: lost?.most ?? 0 },
      { kind: "CreateOperation", operation, approve: hash },
    ),
  ];
};
