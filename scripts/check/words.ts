/**
 * Phrases that leave open who does what, or that etcd's and Kubernetes' own documentation does not use, stay out of
 * what users read: strings of the product, pages, resource definitions, the chart, and changes that are not released.
 */
import { finding, type Check } from "./check.ts";
import { withoutInlineCode } from "./text.ts";
import { usersFiles, usersStrings } from "./users-text.ts";

/** Each has what is better. Only phrases that are never right are here: a check with exceptions is soon ignored. */
const AVOIDED: readonly (readonly [phrase: string, better: string])[] = [
  ["nobody|no one", 'name what is meant: "no client", "no member", "no user"'],
  ["somebody|someone", 'name who: "another client", "a user"'],
  ["everybody|everyone", 'name who: "all users", "every member"'],
  ["whoever|whomever", 'name who: "the user that", "the process that"'],
  ["anew", '"again"'],
  ["by now", 'when, or "already"'],
  ["goes on", '"continues"'],
  ["in vain", '"without success", or what failed'],
  ["(?:is|are|was|were|be|been|being) told", 'who reports what: "the condition reports"'],
  ["(?:is|are|was|were|be) looked at", 'who does what: "the operator reads", "is compared"'],
  ["(?:is|are) heard", '"answers"'],
  ["without a word", '"silently", or what is not reported'],
  ["without end", '"forever", "repeatedly"'],
  ["newcomers?", '"new member", "joining member"'],
  ["nevertheless", '"anyway"'],
  ["(?:sets?|puts?|put) right", '"corrects"'],
  ["(?:becomes?|became) of", '"what happens to", "the result"'],
  ["sees? to (?:it|that)", '"ensures"'],
  ["(?:falls?|fell) silent", '"stops answering"'],
  ["made up for", '"taken later"'],
  ["knows? most", '"has the newest log"'],
];

const avoided = new RegExp(
  `\\b(?:${AVOIDED.map(([phrase]) => phrase.replaceAll(" ", "\\s+")).join("|")})\\b`,
  "gi",
);

export const words: Check = {
  name: "words",
  run: (repo) =>
    [...usersStrings(repo, avoided), ...usersFiles(repo, current)].flatMap(({ path, text, lineOf }) =>
      [...text.matchAll(avoided)].map((match) => finding(path, lineOf(match.index), message(match[0]))),
    ),
};

/** Released changes stay as they were published, and names in code are not ours to choose. */
function current(path: string, text: string): string {
  if (!path.endsWith(".md")) return text;
  const released = path === "CHANGELOG.md" ? text.search(/^## \[\d/m) : -1;
  return withoutInlineCode(released < 0 ? text : text.slice(0, released));
}

function message(found: string): string {
  const [, better = ""] =
    AVOIDED.find(([phrase]) => new RegExp(`^(?:${phrase.replaceAll(" ", "\\s+")})$`, "i").test(found)) ?? [];
  return `"${found.replaceAll(/\s+/g, " ")}" stands in text for users; better: ${better}`;
}
