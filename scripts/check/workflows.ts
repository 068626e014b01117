/**
 * Public workflows run with tokens: each action is pinned by commit, with its version behind it for people and for the
 * dependency bot; rights are stated; no job runs without a limit.
 */
import { parse } from "yaml";
import { finding, type Check } from "./check.ts";

const PINNED = /^\s*(?:- )?uses: [\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/;

interface Workflow {
  readonly permissions?: unknown;
  readonly jobs?: Readonly<Record<string, { readonly "timeout-minutes"?: unknown }>>;
}

export const workflows: Check = {
  name: "workflows",
  run: (repo) =>
    repo.files
      .filter((path) => /^\.github\/workflows\/.+\.ya?ml$/.test(path))
      .flatMap((path) => {
        const text = repo.text(path);
        const unpinned = text.split("\n").flatMap((line, index) => {
          // Actions of this repository are as they are at its own commit.
          if (!/\buses:/.test(line) || /uses: \.\//.test(line) || PINNED.test(line)) return [];
          return [finding(path, index + 1, "pin the action: uses: owner/name@<commit> # v1.2.3")];
        });
        const { permissions, jobs = {} } = parse(text) as Workflow;
        const unstated = permissions === undefined ? ["state permissions: contents: read for all jobs"] : [];
        const endless = Object.entries(jobs)
          .filter(([, job]) => job["timeout-minutes"] === undefined)
          .map(([name]) => `job ${name} has no timeout-minutes: add it`);
        return [...unpinned, ...[...unstated, ...endless].map((one) => finding(path, undefined, one))];
      }),
};
