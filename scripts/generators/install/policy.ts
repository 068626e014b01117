/**
 * The admission policy for EtcdMembers: they are the operator's memory of what runs, so nobody else makes or
 * changes one. Deleting one stays allowed to whoever may: it means "replace this member".
 */
import { GROUP } from "../../../src/api/metadata.ts";
import { metadata, OPERATOR, type Manifest } from "./metadata.ts";

/** For all namespaces, with the operator in a namespace of its own. */
export function memberPolicy(namespace: string): Manifest[] {
  return policy(`etcdmembers.${GROUP}`, `'system:serviceaccount:${namespace}:${OPERATOR}'`);
}

/**
 * For one namespace, with the operator in it. Policies are cluster-wide: each installation has one of its own name, so
 * that whoever removes an installation takes no protection away from another.
 */
export function namespacedMemberPolicy(namespace: string): Manifest[] {
  const operator = `'system:serviceaccount:' + request.namespace + ':${OPERATOR}'`;
  const selected = { "kubernetes.io/metadata.name": namespace };
  const matchResources = { namespaceSelector: { matchLabels: selected } };
  return policy(`${namespace}.etcdmembers.${GROUP}`, operator, matchResources);
}

/** `operator` is a CEL expression of its user name. */
function policy(name: string, operator: string, matchResources?: object): Manifest[] {
  const record = "'EtcdMember ' + request.name + ' is the operator\\'s record of what runs. '";
  const instead =
    "'Change the EtcdCluster instead; to have this member replaced, delete the EtcdMember (kubectl delete etcdmember ' + request.name + ').'";
  return [
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: metadata(name),
      spec: {
        failurePolicy: "Fail",
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: [GROUP],
              apiVersions: ["*"],
              operations: ["CREATE", "UPDATE"],
              resources: ["etcdmembers"],
            },
          ],
        },
        matchConditions: [
          { name: "not-the-operator", expression: `request.userInfo.username != ${operator}` },
          {
            // The garbage collector, the namespace controller and migrations: they touch no spec.
            name: "not-the-control-plane",
            expression:
              "request.userInfo.username != 'system:kube-controller-manager' && !('system:serviceaccounts:kube-system' in request.userInfo.groups)",
          },
        ],
        validations: [
          {
            expression: "request.operation == 'UPDATE' && object.spec == oldObject.spec",
            messageExpression: `request.operation == 'CREATE' ? 'EtcdMembers are made by the operator. Change spec.replicas of an EtcdCluster instead.' : ${record} + ${instead}`,
            message: "EtcdMembers are the operator's records: change the EtcdCluster instead",
            reason: "Forbidden",
          },
        ],
      },
    },
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: metadata(name),
      spec: { policyName: name, validationActions: ["Deny"], ...(matchResources && { matchResources }) },
    },
  ];
}
