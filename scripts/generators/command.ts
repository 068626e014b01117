/** Generates the reference of the command line (`docs/command.md`) from the verbs' data. */
import { EXIT_CODES } from "../../src/cli/exit.ts";
import { COMMON_FLAGS, FLAG_GROUPS, type Flags } from "../../src/cli/flag.ts";
import { flagHelp, flagText, sentence, usageLine } from "../../src/cli/help.ts";
import type { Verb, Verbs } from "../../src/cli/io.ts";
import type { Example, VerbData } from "../../src/cli/verb-data.ts";
import { usageText } from "../../src/cli/verb.ts";
import { verbs } from "../../src/cli/verbs.ts";
import type { Generator } from "../generate/registry.ts";

const COMMAND = "kubectl etcd";

const INTRODUCTION = `<!-- Generated from the verbs in src/cli by \`npm run generate\`. Do not edit. -->

# The command

One program with two names: \`quorate\`, and \`kubectl etcd\` where it is found on PATH as \`kubectl-etcd\`. Verbs about
clusters work on Kubernetes, with the rights of your kubeconfig, and on clusters of this machine (\`--local\`, \`--name\`,
\`--dir\`), with the same words and the same output.

\`\`\`sh
kubectl etcd list -A             # all clusters, one line each
kubectl etcd status demo         # one cluster on one screen
kubectl etcd why demo            # what it waits for, and what you can do
quorate status --local           # a cluster on this machine
\`\`\`

The cluster may be left out if there is only one. Every verb has \`--help\` with examples.
`;

export const commandPage: Generator = {
  name: "command page (docs/command.md)",
  outputs: ["docs/command.md"],
  async generate() {
    const pages = await pagesOf(verbs);
    const toc = pages.map(
      ({ title, summary }) => `| [\`${title}\`](#${title.replaceAll(" ", "-")}) | ${summary} |`,
    );
    const text = [
      INTRODUCTION,
      `| verb | what it does |\n|---|---|\n${toc.join("\n")}\n`,
      flagSection("Flags of every verb", COMMON_FLAGS),
      flagSection("Flags that choose the cluster", { ...FLAG_GROUPS.target, ...FLAG_GROUPS.everywhere }),
      `## Exit codes\n\n| code | meaning |\n|---|---|\n${EXIT_CODES.map(({ code, meaning }) => `| ${code} | ${meaning} |`).join("\n")}\n`,
      ...pages.map(({ text: page }) => page),
    ].join("\n");
    return new Map([["docs/command.md", text]]);
  },
};

interface Page {
  readonly title: string;
  readonly summary: string;
  readonly text: string;
}

async function pagesOf(table: Verbs, under = ""): Promise<Page[]> {
  const pages: Page[] = [];
  for (const [name, load] of Object.entries(table)) {
    const verb = await load();
    if (verb.data?.hidden) continue;
    const title = under === "" ? name : `${under} ${name}`;
    pages.push({ title, summary: verb.summary, text: await pageOf(title, verb) });
    if (verb.verbs) pages.push(...(await pagesOf(verb.verbs, title)));
  }
  return pages;
}

async function pageOf(title: string, verb: Verb): Promise<string> {
  if (verb.data) return dataPage(verb.data);
  if (verb.group) {
    const { summary, about, examples } = verb.group;
    return `## ${title}\n\n${[sentence(summary), about ?? ""].join(" ").trim()}\n\n${exampleBlock(examples)}`;
  }
  return `## ${title}\n\n${sentence(verb.summary)}\n\n\`\`\`text\n${(await usageText(verb, {})).trim()}\n\`\`\`\n`;
}

function dataPage(data: VerbData): string {
  const own: Flags = Object.assign(
    {},
    data.flags,
    ...(data.groups ?? []).filter((group) => group !== "target").map((group) => FLAG_GROUPS[group]),
  ) as Flags;
  const parts = [
    `## ${data.name}\n`,
    `${[sentence(data.summary), data.about ?? ""].join(" ").trim()}\n`,
    `\`\`\`text\n${COMMAND} ${usageLine(data)}\n\`\`\`\n`,
    ...(data.arguments?.length
      ? [
          rows(
            ["argument", "meaning"],
            data.arguments.map(({ name, help }) => [`\`${name}\``, help]),
          ),
        ]
      : []),
    ...(Object.keys(own).length > 0 ? [flagTable(own)] : []),
    ...(data.exitCodes?.length
      ? [
          rows(
            ["exit code", "meaning"],
            data.exitCodes.map(({ code, meaning }) => [String(code), meaning]),
          ),
        ]
      : []),
    exampleBlock(data.examples),
  ];
  return parts.join("\n");
}

function exampleBlock(examples: readonly Example[]): string {
  return `\`\`\`sh\n${examples.map(({ does, line }) => `# ${does}\n${COMMAND} ${line}`).join("\n\n")}\n\`\`\`\n`;
}

function flagSection(title: string, flags: Flags): string {
  return `## ${title}\n\n${flagTable(flags)}`;
}

function flagTable(flags: Flags): string {
  return rows(
    ["flag", "meaning"],
    Object.entries(flags).map(([name, flag]) => [`\`${flagText(name, flag).trim()}\``, flagHelp(flag)]),
  );
}

function rows(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const cell = (text: string) => text.replaceAll("|", "\\|");
  const row = (cells: readonly string[]) => `| ${cells.map(cell).join(" | ")} |`;
  return `${[row(head), `|${head.map(() => "---|").join("")}`, ...lines.map(row)].join("\n")}\n`;
}
