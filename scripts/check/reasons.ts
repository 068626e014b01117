/**
 * Reasons and codes are an API: alerts and scripts match them. One that was published and is gone, renamed or not, is
 * named in CHANGELOG.md under Changed or Removed; that it was once named under Added does not count.
 */
import { linesOf, PUBLISHED } from "../generate/published-reasons.ts";
import { finding, type Check } from "./check.ts";
import type { Repo } from "./repo.ts";
import { matches } from "./text.ts";

export function keptReasons(now: readonly string[]): Check {
  return {
    name: "reasons",
    run: (repo) => {
      const known = new Set(now);
      const announced = announcedIn(repo);
      return linesOf(repo.text(PUBLISHED)).flatMap((line, index) => {
        const reason = line.slice(line.indexOf(": ") + 2);
        if (known.has(line) || announced.has(reason)) return [];
        return [
          finding(
            PUBLISHED,
            index + 1,
            `${line} is gone: keep it, or name \`${reason}\` in CHANGELOG.md under Changed or Removed, with what takes its place`,
          ),
        ];
      });
    },
  };
}

/** What stands in backticks in the sections of CHANGELOG.md that tell of changes. */
function announcedIn(repo: Repo): ReadonlySet<string> {
  const sections = repo.text("CHANGELOG.md").split(/^(?=##)/m);
  const changes = sections.filter((section) => /^### (?:Changed|Removed)\n/.test(section));
  return new Set(
    changes.flatMap((section) =>
      matches(section, /`(?<name>\w+)`/g).map(({ groups }) => groups["name"] ?? ""),
    ),
  );
}
