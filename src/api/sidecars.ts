/**
 * Containers beside etcd, in Kubernetes' own shape. Named here is only what the rules look at; everything else of
 * a Container is handed on, and the API server checks it when a Pod is made.
 */
import { z } from "zod";
import { containerName } from "./labels.ts";
import { withRules, type Rule } from "./rule.ts";
import { int, text } from "./scalars.ts";

const RESERVED_NAME = "etcd";
/** All containers of a Pod share one address. */
const ETCD_PORTS = [2379, 2380, 2381];
/** The volumes of a member's Pod. */
const MOUNTABLE = ["data", "config"];

const sidecarSchema = z
  .looseObject({
    name: containerName().describe("Name of the container."),
    image: text(1024).min(1).describe("Its image."),
    ports: z
      .array(z.looseObject({ containerPort: int(1, 65_535) }))
      .max(32)
      .optional()
      .describe("Ports it listens on."),
    volumeMounts: z
      .array(z.looseObject({ name: text(63), mountPath: text(4096).min(1) }))
      .max(16)
      .optional()
      .describe("Volumes of the Pod that it sees: data, config."),
  })
  .meta({ kubernetesType: "Container" });

type Sidecar = z.output<typeof sidecarSchema>;

const quoted = (words: readonly string[]) => words.map((word) => `'${word}'`).join(", ");

const names: Rule<Sidecar[]> = {
  cel: `self.all(sidecar, sidecar.name != '${RESERVED_NAME}')`,
  message: `a sidecar may not be called ${RESERVED_NAME}: Quorate's own container has this name`,
  check: (sidecars) => sidecars.every((sidecar) => sidecar.name !== RESERVED_NAME),
};

const namesDiffer: Rule<Sidecar[]> = {
  cel: "self.all(one, self.exists_one(other, other.name == one.name))",
  message: "two sidecars have the same name: rename one of them",
  check: (sidecars) => new Set(sidecars.map(({ name }) => name)).size === sidecars.length,
};

const portsAreFree: Rule<Sidecar> = {
  cel: `!has(self.ports) || self.ports.all(port, !(port.containerPort in [${ETCD_PORTS.join(", ")}]))`,
  fieldPath: ".ports",
  message: `etcd listens on ${ETCD_PORTS.join(", ")} of the same Pod: let the sidecar use another port`,
  check: ({ ports = [] }) => ports.every(({ containerPort }) => !ETCD_PORTS.includes(containerPort)),
};

const volumesExist: Rule<Sidecar> = {
  cel: `!has(self.volumeMounts) || self.volumeMounts.all(mount, mount.name in [${quoted(MOUNTABLE)}])`,
  fieldPath: ".volumeMounts",
  message: `the Pod has the volumes ${MOUNTABLE.join(" and ")}: mount one of these, or remove the mount`,
  check: ({ volumeMounts = [] }) => volumeMounts.every(({ name }) => MOUNTABLE.includes(name)),
};

export const sidecarsSchema = () =>
  withRules(z.array(withRules(sidecarSchema, portsAreFree, volumesExist)).max(16), names, namesDiffer);
