/**
 * Generated files are committed; this check runs their generators in memory and names what differs.
 */
import { findDrift, type Drift, type Generator } from "../generate/registry.ts";
import { finding, type Check } from "./check.ts";

const problems: Record<Drift["kind"], string> = {
  missing: "is missing",
  edited: "differs from what its generator makes",
  orphan: "is no longer made by its generator",
};

export function generatedFiles(generators: readonly Generator[]): Check {
  return {
    name: "generated",
    async run(repo) {
      const drifts = await findDrift(generators, repo.root, repo.files);
      return drifts.map(({ path, kind, generator }) =>
        finding(path, undefined, `${problems[kind]} (${generator}): run npm run generate`),
      );
    },
  };
}
