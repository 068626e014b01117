/**
 * The list of generators. To add one: write a file in scripts/generators/ that exports a `Generator`
 * (see generate/registry.ts), import it here, run `npm run generate`, and commit what it wrote.
 */
import { referencePages, resourceDefinitions } from "./generators/api.ts";
import { commandPage } from "./generators/command.ts";
import { helmChart } from "./generators/chart.ts";
import { etcdProto } from "./generators/etcd-proto.ts";
import { installation } from "./generators/install.ts";
import { metricsPage } from "./generators/metrics.ts";
import { reasonsPage } from "./generators/reasons.ts";
import { publishedReasons } from "./generators/published-reasons.ts";
import type { Generator } from "./generate/registry.ts";

export const generators: readonly Generator[] = [
  resourceDefinitions,
  referencePages,
  etcdProto,
  installation,
  helmChart,
  metricsPage,
  reasonsPage,
  publishedReasons,
  commandPage,
];
