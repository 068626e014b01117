/**
 * The admission policies. EtcdMembers are the operator's memory of what runs, so nobody else makes or changes one;
 * deleting one stays allowed to whoever may: it means "replace this member". EtcdOperations that end a member's data ask
 * for a right of their own.
 */
import { GROUP } from "../../../src/api/metadata.ts";
import { DESTRUCTIVE_OPERATIONS } from "../../../src/api/status-words.ts";
import type { Manifest } from "./metadata.ts";
import { mayDo, policy } from "./policy-objects.ts";

/**
 * Another owner would have the garbage collector delete the record, for which a person needs the right to delete it.
 * Labels are put back by the operator; finalizers stay removable, for who has removed the operator.
 */
const SAME_OWNERS =
  "has(object.metadata.ownerReferences) == has(oldObject.metadata.ownerReferences) && (!has(object.metadata.ownerReferences) || object.metadata.ownerReferences == oldObject.metadata.ownerReferences)";

/**
 * Operators, by a right and not by a name, so that several installations do not lock each other out. Only service
 * accounts: a person who may do anything is still kept from a slip of the hand.
 */
const NOT_AN_OPERATOR = {
  name: "not-an-operator",
  expression: `!(request.userInfo.username.startsWith('system:serviceaccount:') && ${mayDo(GROUP, "etcdmembers", "record")})`,
};

export function memberPolicy(onlyIn?: string): Manifest[] {
  const record = "'EtcdMember ' + request.name + ' is the operator\\'s record of what runs. '";
  const instead =
    "'Change the EtcdCluster instead; to have this member replaced, delete the EtcdMember (kubectl delete etcdmember ' + request.name + ').'";
  return policy("etcdmembers", onlyIn, {
    operations: ["CREATE", "UPDATE"],
    matchConditions: [
      NOT_AN_OPERATOR,
      {
        // The garbage collector, the namespace controller and migrations: they touch no spec.
        name: "not-the-control-plane",
        expression:
          "request.userInfo.username != 'system:kube-controller-manager' && !('system:serviceaccounts:kube-system' in request.userInfo.groups)",
      },
    ],
    validations: [
      {
        expression: `request.operation == 'UPDATE' && object.spec == oldObject.spec && ${SAME_OWNERS}`,
        messageExpression: `request.operation == 'CREATE' ? 'EtcdMembers are made by the operator. Change spec.replicas of an EtcdCluster instead.' : ${record} + ${instead}`,
        message: "EtcdMembers are the operator's records: change the EtcdCluster instead",
      },
    ],
  });
}

/** RBAC knows verbs and kinds, but not what a spec says: the policy asks it about a verb of our own. */
export function operationPolicy(onlyIn?: string): Manifest[] {
  const asks = DESTRUCTIVE_OPERATIONS.map((name) => `has(object.spec.${name})`).join(" || ");
  const names = DESTRUCTIVE_OPERATIONS.join(", ");
  const grants =
    onlyIn === undefined ? "the role admin of the namespace grants" : "the Role quorate-admin grants";
  const given = DESTRUCTIVE_OPERATIONS.reduceRight(
    (rest, name) => (rest === "" ? `'${name}'` : `(has(object.spec.${name}) ? '${name}' : ${rest})`),
    "",
  );
  const why = `deletes data or gives it up, so creating it needs the verb destroy on etcdoperations.${GROUP} in namespace `;
  return policy("etcdoperations", onlyIn, {
    // Its spec never changes afterwards.
    operations: ["CREATE"],
    matchConditions: [{ name: "destructive", expression: asks }],
    validations: [
      {
        expression: mayDo(GROUP, "etcdoperations", "destroy"),
        messageExpression: `'This operation (' + ${given} + ') ${why}' + request.namespace + ', which ${grants}; ' + request.userInfo.username + ' does not have it.'`,
        message: `creating this operation (${names}) needs the verb destroy on etcdoperations.${GROUP}`,
      },
    ],
  });
}
