/**
 * The Service for clients, and what it takes to reach it from outside the Kubernetes cluster.
 */
import { z } from "zod";
import { isCIDR } from "./addresses.ts";
import { annotationsSchema, labelsSchema } from "./labels.ts";
import { withRules, type Rule } from "./rule.ts";
import { text } from "./scalars.ts";

const sourceRange: Rule<string> = {
  cel: "isCIDR(self)",
  message: "must be an address range in CIDR notation, like 192.0.2.0/24 or 2001:db8::/32",
  check: isCIDR,
};

const className: Rule<string> = {
  cel: "self.matches('^[a-z0-9A-Z]([-a-z0-9A-Z_./]*[a-z0-9A-Z])?$')",
  message: "must be the name of a load balancer class, like example.com/internal",
  check: (name) => /^[a-z0-9A-Z]([-a-z0-9A-Z_./]*[a-z0-9A-Z])?$/.test(name),
};

const fields = z.strictObject({
  type: z
    .enum(["ClusterIP", "NodePort", "LoadBalancer"])
    .default("ClusterIP")
    .describe(
      "Type of the client Service, which selects voting members only. The addresses of a load balancer are added to the members' certificates and to status.externalEndpoints.",
    ),
  // Without a default of the resource definition, which an operator from before this field would find and reject.
  clusterName: z
    .boolean()
    .optional()
    .describe(
      "False: do not create a second, ClusterIP Service with the name of the EtcdCluster, by which Pods connect to <name>:2379. It is created by default. Not created if the name ends like that of another Service of Quorate: -client, -peers, -learners or -<number>-peer.",
    ),
  labels: labelsSchema().default({}).describe("Additional labels of the client Service."),
  annotations: annotationsSchema().default({}).describe("Additional annotations of the client Service."),
  externalTrafficPolicy: z
    .enum(["Cluster", "Local"])
    .optional()
    .describe("Local keeps external traffic on the node where it arrives and preserves its source address."),
  loadBalancerClass: withRules(text(253), className)
    .optional()
    .describe("Class of the load balancer. Cannot be changed while the type is LoadBalancer."),
  loadBalancerSourceRanges: z
    .array(withRules(text(43), sourceRange))
    .max(64)
    .default([])
    .meta({ "x-kubernetes-list-type": "set" })
    .describe("Source ranges that may reach the load balancer. Empty allows all."),
});

type Fields = z.output<typeof fields>;

const policyNeedsOutside: Rule<Fields> = {
  cel: "!has(self.externalTrafficPolicy) || self.type != 'ClusterIP'",
  fieldPath: ".externalTrafficPolicy",
  message:
    "externalTrafficPolicy needs service.type NodePort or LoadBalancer: a ClusterIP Service receives no external traffic",
  check: (service) => service.externalTrafficPolicy === undefined || service.type !== "ClusterIP",
};

const balancerNeedsType: Rule<Fields> = {
  cel: "self.type == 'LoadBalancer' || (!has(self.loadBalancerClass) && size(self.loadBalancerSourceRanges) == 0)",
  message: "loadBalancerClass and loadBalancerSourceRanges need service.type LoadBalancer",
  check: (service) =>
    service.type === "LoadBalancer" ||
    (service.loadBalancerClass === undefined && service.loadBalancerSourceRanges.length === 0),
};

/** By Kubernetes' own rule; said here, because there it would only show as a Service that cannot be written. */
const classIsKept: Rule<Fields> = {
  cel: "self.type != 'LoadBalancer' || oldSelf.type != 'LoadBalancer' || (has(self.loadBalancerClass) == has(oldSelf.loadBalancerClass) && (!has(self.loadBalancerClass) || self.loadBalancerClass == oldSelf.loadBalancerClass))",
  transition: true,
  fieldPath: ".loadBalancerClass",
  message:
    "loadBalancerClass cannot be changed while the type is LoadBalancer: set service.type to ClusterIP first, then both",
  check: (service, old) =>
    old === undefined ||
    service.type !== "LoadBalancer" ||
    old.type !== "LoadBalancer" ||
    service.loadBalancerClass === old.loadBalancerClass,
};

export const serviceSchema = withRules(fields, policyNeedsOutside, balancerNeedsType, classIsKept);

export type Service = z.output<typeof serviceSchema>;
