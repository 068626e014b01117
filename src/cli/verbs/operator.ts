/** `quorate operator`: what it needs, which is nearly everything, is loaded when it runs; a list of verbs does not wait for it. */
import type { Verb } from "../io.ts";

export const verb: Verb = {
  summary: "run the Kubernetes operator, in a Pod or with a kubeconfig",
  usage: async () => (await import("../operator.ts")).usage,
  run: async (args, io) => await (await import("../operator.ts")).run(args, io),
};
