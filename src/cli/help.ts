/** The text of `--help`, from a verb's data. */
import { EXIT_CODES } from "./exit.ts";
import { COMMON_FLAGS, FLAG_GROUPS, type Flag, type Flags } from "./flag.ts";
import type { Argument, Example, GroupData, VerbData } from "./verb-data.ts";

const WIDTH = 100;

export function helpOf(data: VerbData, command: string): string {
  const own = data.flags ?? {};
  const target = data.groups?.includes("target") ? FLAG_GROUPS.target : undefined;
  const others: Flags = Object.assign(
    {},
    ...(data.groups ?? []).filter((group) => group !== "target").map((group) => FLAG_GROUPS[group]),
  ) as Flags;
  const sections = [
    `Usage: ${command} ${usageLine(data)}\n\n${sentence(data.summary)}${data.about === undefined ? "" : ` ${data.about}`}`
      .split("\n")
      .map((line) => wrap(line, WIDTH))
      .join("\n"),
    section(
      "Arguments",
      (data.arguments ?? []).map((one) => [argumentText(one), one.help]),
    ),
    section("Flags", flagRows({ ...own, ...others })),
    target && section("Which cluster", flagRows(target)),
    section("Common flags", flagRows(COMMON_FLAGS)),
    examplesOf(data.examples, command),
    section("Exit codes", exitRows(data)),
  ];
  return `${sections.filter((text) => text !== undefined && text !== "").join("\n\n")}\n`;
}

export function groupHelp(
  data: GroupData,
  command: string,
  verbs: readonly (readonly [string, string])[],
): string {
  const sections = [
    `Usage: ${command} ${data.name} <verb> [arguments] [flags]`,
    wrap(`${sentence(data.summary)}${data.about === undefined ? "" : ` ${data.about}`}`, WIDTH),
    section("Verbs", verbs),
    examplesOf(data.examples, command),
    `Run ${command} ${data.name} <verb> --help for details.`,
  ];
  return `${sections.filter((text) => text !== "").join("\n\n")}\n`;
}

export function examplesOf(examples: readonly Example[], command: string): string {
  if (examples.length === 0) return "";
  return `Examples:\n${examples.map(({ does, line }) => `  # ${does}\n  ${command} ${line}`).join("\n")}`;
}

/** `status [cluster] [flags]`. */
export function usageLine(data: VerbData): string {
  const words = [data.name, ...(data.arguments ?? []).map(argumentText), "[flags]"];
  return [...words, ...(data.rest === undefined ? [] : ["--", data.rest])].join(" ");
}

function argumentText({ name, optional, many }: Argument): string {
  const text = many ? `${name}...` : name;
  return optional ? `[${text}]` : `<${text}>`;
}

export function flagText(name: string, flag: Flag): string {
  const value =
    flag.kind === "switch" ? "" : flag.kind === "choice" ? ` ${flag.choices.join("|")}` : ` <${flag.value}>`;
  return `${flag.short === undefined ? "    " : `-${flag.short}, `}--${name}${value}`;
}

export function flagHelp(flag: Flag): string {
  const more = [
    ...(flag.kind === "list" ? ["may be repeated"] : []),
    ...("default" in flag && flag.default !== undefined ? [`default: ${flag.default}`] : []),
  ];
  return more.length === 0 ? flag.help : `${flag.help} (${more.join("; ")})`;
}

function flagRows(flags: Flags): [string, string][] {
  return Object.entries(flags).map(([name, flag]) => [flagText(name, flag), flagHelp(flag)]);
}

/** Those that any verb may end with, and those of this one. */
function exitRows({ exitCodes = [], groups = [] }: VerbData): [string, string][] {
  const own = new Map(exitCodes.map(({ code, meaning }) => [code, meaning]));
  const usual = new Set<number>([
    0,
    1,
    2,
    ...(groups.includes("target") ? [3, 4] : []),
    ...(groups.includes("confirm") ? [5, 6] : []),
  ]);
  return EXIT_CODES.filter(({ code }) => usual.has(code) || own.has(code)).map(({ code, meaning }) => [
    String(code),
    own.get(code) ?? meaning,
  ]);
}

/** For help that is written by hand. */
export function exitCodesOf(codes: readonly number[], own: Readonly<Record<number, string>> = {}): string {
  const rows = EXIT_CODES.filter(({ code }) => codes.includes(code));
  return section(
    "Exit codes",
    rows.map(({ code, meaning }) => [String(code), own[code] ?? meaning]),
  );
}

function section(title: string, rows: readonly (readonly [string, string])[]): string {
  if (rows.length === 0) return "";
  const width = Math.min(34, Math.max(...rows.map(([left]) => left.length)));
  const lines = rows.map(([left, right]) => {
    const indent = " ".repeat(width + 4);
    const text = wrap(right, WIDTH - width - 4).replaceAll("\n", `\n${indent}`);
    return left.length > width ? `  ${left}\n${indent}${text}` : `  ${left.padEnd(width)}  ${text}`;
  });
  return `${title}:\n${lines.join("\n")}`;
}

/** The first letter large, a full stop at the end. */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? "" : "."}`;
}

export function wrap(text: string, width: number): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line].join("\n");
}
