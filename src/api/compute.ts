/**
 * What the etcd container asks of its node and may use at most, in Kubernetes' own shape.
 */
import { z } from "zod";
import { parseQuantity, type Quantity } from "./quantity.ts";
import { withRules, type Rule } from "./rule.ts";
import { quantityOrZero } from "./scalars.ts";

type Quantities = Record<string, Quantity>;

const STANDARD = ["cpu", "memory", "ephemeral-storage"];
const STANDARD_LIST = `[${STANDARD.map((name) => `'${name}'`).join(", ")}]`;

const namesOfResources: Rule<Quantities> = {
  cel: `self.all(name, name in ${STANDARD_LIST} || name.startsWith('hugepages-') || name.contains('/'))`,
  message: `resource names must be ${STANDARD.join(", ")}, hugepages-<size>, or a name with a vendor's prefix such as example.com/nic`,
  check: (map) =>
    Object.keys(map).every(
      (name) => STANDARD.includes(name) || name.startsWith("hugepages-") || name.includes("/"),
    ),
};

/** Few entries, because the API server cannot see how long a quantity is and assumes the worst for its rule. */
const quantities = () =>
  withRules(z.record(z.string(), quantityOrZero()).meta({ maxProperties: 6 }), namesOfResources);

const fields = z.strictObject({
  requests: quantities().optional().describe("What the node must have free for a member."),
  limits: quantities()
    .optional()
    .describe("What a member may use at most. etcd needs more memory than its quota."),
});

/** Of our own list, not of what is given: whose length the API server would assume to be the worst. */
const withinLimits: Rule<z.output<typeof fields>> = {
  cel: `!has(self.requests) || !has(self.limits) || ${STANDARD_LIST}.all(name, !(name in self.requests) || !(name in self.limits) || !isQuantity(string(self.requests[name])) || !isQuantity(string(self.limits[name])) || !quantity(string(self.requests[name])).isGreaterThan(quantity(string(self.limits[name]))))`,
  fieldPath: ".requests",
  message: "requests may not be above limits: lower the request or raise the limit",
  check: ({ requests = {}, limits = {} }) =>
    STANDARD.every((name) => {
      const [asked, most] = [parseQuantity(requests[name] ?? ""), parseQuantity(limits[name] ?? "")];
      return asked === undefined || most === undefined || asked <= most;
    }),
};

export const computeResourcesSchema = withRules(fields, withinLimits);
