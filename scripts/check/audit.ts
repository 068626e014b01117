/**
 * Known vulnerabilities of the packages in the lock, as `npm audit` tells them. A registry that cannot be reached, or a
 * mirror that has no such answer, is a note and no fault. In CI a vulnerability of high severity in a package that is
 * shipped fails; everything else is a note, because a new advisory is no fault of the change that is checked.
 */
import { execFile } from "node:child_process";
import type { Lock } from "../lock/stubs.ts";
import type { Check } from "./check.ts";

interface Vulnerability {
  readonly severity: string;
  readonly range?: string;
  readonly via?: readonly (string | { readonly title?: string; readonly url?: string })[];
  readonly nodes?: readonly string[];
}

interface Answer {
  readonly vulnerabilities?: Readonly<Record<string, Vulnerability>>;
  readonly message?: string;
  readonly error?: { readonly summary?: string };
}

/** What npm wrote, whatever its exit code. */
export type AskNpm = (root: string) => Promise<string>;

const SERIOUS = ["high", "critical"];

export function auditWith(ask: AskNpm, inCi: boolean): Check {
  return {
    name: "audit",
    async run(repo, note) {
      const answer = parsed(await ask(repo.root));
      if (answer.vulnerabilities === undefined) {
        const why = answer.message ?? answer.error?.summary ?? "npm gave no report";
        note?.(`vulnerabilities are not known: ${why}`);
        return [];
      }
      const { packages } = JSON.parse(repo.text("package-lock.json")) as Lock;
      const isShipped = ({ nodes = [] }: Vulnerability) => nodes.some((node) => packages[node]?.dev !== true);
      const findings: string[] = [];
      for (const [name, one] of Object.entries(answer.vulnerabilities)) {
        const fails = inCi && isShipped(one) && SERIOUS.includes(one.severity);
        const text = described(name, one, isShipped(one));
        if (fails) findings.push(text);
        else note?.(text);
      }
      return findings;
    },
  };
}

export const audit: Check = auditWith(askNpm, process.env["CI"] === "true");

function parsed(text: string): Answer {
  try {
    return JSON.parse(text) as Answer;
  } catch {
    return { message: text.trim().split("\n").at(-1) || "npm gave no report" };
  }
}

function described(name: string, { severity, range, via = [] }: Vulnerability, shipped: boolean): string {
  const why = via.map((one) => (typeof one === "string" ? `by ${one}` : [one.title, one.url].join(" ")));
  const which = shipped ? "shipped" : "development only";
  return `${name} ${range ?? ""} (${which}): ${severity}, ${why.join("; ")}: run npm audit`;
}

/** The npm that started us, when it did; otherwise the one on PATH. Asked once: this must not hold up a check. */
function askNpm(root: string): Promise<string> {
  const running = process.env["npm_execpath"];
  const [command = "npm", ...first] = running?.endsWith("npm-cli.js") ? [process.execPath, running] : ["npm"];
  const args = [...first, "audit", "--json", "--fetch-retries=0", "--fetch-timeout=10000"];
  return new Promise((resolve) => {
    const options = { cwd: root, timeout: 20_000, maxBuffer: 1 << 26 };
    execFile(command, args, options, (error, stdout) => resolve(stdout || (error?.message ?? "")));
  });
}
