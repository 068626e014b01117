/**
 * What pages claim about the tree: links lead somewhere, commands, files and folders exist, clusters in examples are
 * valid, and each reason that the README gives to use Quorate names the test or benchmark that measures it.
 */
import { dirname, join } from "node:path/posix";
import { parseClusterYaml } from "../../src/api/yaml.ts";
import { finding, type Check } from "./check.ts";
import type { Repo } from "./repo.ts";
import { matches, withoutCode } from "./text.ts";

/** Of npm itself. */
const NPM_COMMANDS = new Set(["ci", "install", "link", "run", "start", "test", "warn"]);

export const documents: Check = {
  name: "documents",
  run: (repo) =>
    repo.files
      .filter((path) => path.endsWith(".md"))
      .flatMap((path) => [
        ...brokenLinks(repo, path),
        ...unknownCommands(repo, path),
        ...missingSources(repo, path),
        ...invalidClusters(repo, path),
        ...(path === "README.md" ? unmeasured(repo, path) : []),
      ]),
};

function brokenLinks(repo: Repo, path: string): string[] {
  return matches(withoutCode(repo.text(path)), /\]\((?<target>[^)\s]+)\)/g).flatMap(({ line, groups }) => {
    const [file = "", anchor] = (groups["target"] ?? "").split("#");
    if (/^[a-z]+:/.test(file)) return [];
    const target = file === "" ? path : join(dirname(path), file).replace(/\/$/, "");
    const isFolder = repo.files.some((one) => one.startsWith(`${target}/`));
    if (!repo.files.includes(target) && !isFolder) return [finding(path, line, `${file} is not there`)];
    if (anchor === undefined || isFolder || headings(repo.text(target)).has(anchor)) return [];
    return [finding(path, line, `${target} has no heading #${anchor}`)];
  });
}

/** As GitHub makes them from headings. */
function headings(text: string): ReadonlySet<string> {
  return new Set(
    matches(withoutCode(text), /^#+ (?<title>.+)$/gm).map(({ groups }) =>
      (groups["title"] ?? "")
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

function unknownCommands(repo: Repo, path: string): string[] {
  const { scripts = {} } = JSON.parse(repo.text("package.json")) as { scripts?: Record<string, string> };
  return matches(
    repo.text(path),
    /\bnpm (?:run (?:-\S+ )*(?<script>[a-z0-9:-]+)|(?<command>[a-z]+)\b)/g,
  ).flatMap(({ line, groups: { script, command } }) => {
    if (script !== undefined && !Object.hasOwn(scripts, script))
      return [finding(path, line, `npm run ${script}: package.json has no such script`)];
    if (command !== undefined && !NPM_COMMANDS.has(command) && path === "README.md")
      return [finding(path, line, `npm ${command}: npm has no such command`)];
    return [];
  });
}

/**
 * Sources as pages name them: `src/core/rule.ts`, or without what a sentence before has said, `metrics.ts`; and folders
 * of the tree, `src/cli/local/`. Released changes name what was there then.
 */
function missingSources(repo: Repo, path: string): string[] {
  if (path === "CHANGELOG.md") return [];
  const top = new Set(repo.files.flatMap((file) => (file.includes("/") ? [file.split("/")[0] ?? ""] : [])));
  const named = matches(repo.text(path), /`(?<name>[\w./-]+(?:\.\w+|\/))`/g);
  return named.flatMap(({ line, groups: { name = "" } }) => {
    const isOurs = name.endsWith(".ts") || (name.includes("/") && top.has(name.split("/")[0] ?? ""));
    const isThere = name.endsWith("/")
      ? repo.files.some((file) => file.startsWith(name))
      : repo.files.some((file) => file === name || file.endsWith(`/${name}`) || file.startsWith(`${name}/`));
    return !isOurs || isThere ? [] : [finding(path, line, `${name} is not there`)];
  });
}

/** Whole resources only: a part of one cannot be judged. */
function invalidClusters(repo: Repo, path: string): string[] {
  return matches(repo.text(path), /^```yaml\n(?<yaml>[^]*?)^```/gm).flatMap(({ line, groups }) => {
    const yaml = groups["yaml"] ?? "";
    if (!/^apiVersion: /m.test(yaml) || !/^kind: EtcdCluster$/m.test(yaml)) return [];
    const parsed = parseClusterYaml(yaml);
    if (parsed.ok) return [];
    return parsed.errors.map((error) => finding(path, line, `${error.path}: ${error.message}`));
  });
}

function unmeasured(repo: Repo, path: string): string[] {
  const [, why = ""] = repo.text(path).split("\n## Why\n");
  const claims = matches(why.split("\n## ")[0] ?? "", /^- (?<claim>.+)$/gm);
  return claims.flatMap(({ groups }) => {
    const claim = groups["claim"] ?? "";
    const name = /\*\*(?<name>.+?)\*\*/.exec(claim)?.groups?.["name"] ?? claim;
    const named = /<!-- (?<by>.+?) -->$/.exec(claim)?.groups?.["by"];
    if (named === undefined)
      return [
        finding(
          path,
          undefined,
          `"${name}" names no test or benchmark: <!-- path, or npm run bench -- name -->`,
        ),
      ];
    return named.split(/[,;] /).flatMap((by) => {
      const bench = /^npm run bench -- (?<bench>\S+)$/.exec(by)?.groups?.["bench"];
      const exists =
        bench === undefined
          ? by.startsWith("npm run ") || repo.files.some((one) => one === by || one.startsWith(`${by}/`))
          : repo.files.some((one) => one.endsWith(`/${bench}.bench.ts`));
      return exists ? [] : [finding(path, undefined, `"${name}" names ${by}, which is not there`)];
    });
  });
}
