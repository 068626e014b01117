/**
 * Who the containers of a member's Pod run as, in Kubernetes' own shape. What no kubelet could start is refused.
 */
import { z } from "zod";
import { withRules, type Rule } from "./rule.ts";
import { int, text } from "./scalars.ts";

const id = () => int(0, 2_147_483_647);

const seccomp = z.strictObject({
  type: z.enum(["RuntimeDefault", "Unconfined", "Localhost"]),
  localhostProfile: text(4096).min(1).optional(),
});

const profileIsNamed: Rule<z.output<typeof seccomp>> = {
  cel: "(self.type == 'Localhost') == has(self.localhostProfile)",
  message: "localhostProfile is required with type Localhost and allowed only with it: set both, or neither",
  check: ({ type, localhostProfile }) => (type === "Localhost") === (localhostProfile !== undefined),
};

const fields = z.strictObject({
  runAsUser: id().optional(),
  runAsGroup: id().optional(),
  runAsNonRoot: z.boolean().optional(),
  fsGroup: id().optional(),
  fsGroupChangePolicy: z.enum(["OnRootMismatch", "Always"]).optional(),
  supplementalGroups: z.array(id()).max(64).optional(),
  seccompProfile: withRules(seccomp, profileIsNamed).optional(),
  seLinuxOptions: z
    .strictObject({
      user: text(253).optional(),
      role: text(253).optional(),
      type: text(253).optional(),
      level: text(253).optional(),
    })
    .optional(),
  sysctls: z
    .array(z.strictObject({ name: text(253), value: text(253) }))
    .max(64)
    .optional(),
});

const rootOrNot: Rule<z.output<typeof fields>> = {
  cel: "!has(self.runAsNonRoot) || !self.runAsNonRoot || !has(self.runAsUser) || self.runAsUser != 0",
  fieldPath: ".runAsNonRoot",
  message: "runAsUser 0 is root, which runAsNonRoot forbids, so no container would start: change one of them",
  check: ({ runAsNonRoot, runAsUser }) => runAsNonRoot !== true || runAsUser !== 0,
};

export const securityContextSchema = withRules(fields, rootOrNot).meta({
  kubernetesType: "PodSecurityContext",
});
