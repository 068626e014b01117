/** Searches all files under a folder for keys and passwords that do not belong where they are. */
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import { secretsIn } from "./forms.ts";
import { placeOf } from "./places.ts";
import { storedIn, type StoredObject } from "./store.ts";

export interface Searched {
  readonly files: number;
  readonly bytes: number;
  /** `file:line: what`. */
  readonly found: readonly string[];
  /** Random ones, out of the places where they belong: to be looked for in what else was told. */
  readonly secrets: readonly string[];
}

/** A shorter one could be a word. */
const RANDOM = 20;
/** Secret as a whole, where it belongs; keys are known by their form. */
const WHOLE = /(?:^|\/)(?:password|[1-9]\d*\.key)$/;

interface Text {
  readonly where: string;
  readonly text: string;
}

/** `target`: a folder under the root, or a file. `secrets`: further ones that are known. */
export function searchFolder(root: string, target = root, secrets: Iterable<string> = []): Searched {
  const told: Text[] = [];
  const objects: StoredObject[] = [];
  const known = new Set(secrets);
  let bytes = 0;
  const inRoot = (file: string) => `/${path.relative(root, file).split(path.sep).join("/")}`;
  for (const file of filesUnder(target, (folder) => placeOf(`${inRoot(folder)}/`) === "unread")) {
    const place = placeOf(inRoot(file));
    if (place === "unread" || (place === "kept" && !WHOLE.test(file))) continue;
    const content = read(file);
    if (content === undefined) continue;
    bytes += content.length;
    if (place === "kept") known.add(content.toString("latin1").trim());
    else if (place === "store") {
      const stored = storedIn(content.toString("latin1"));
      objects.push(...stored.objects);
      for (const secret of stored.secrets) known.add(secret);
    } else if (!isProgram(content)) told.push({ where: file, text: content.toString("latin1") });
  }
  const random = [...known].filter((secret) => secret.length >= RANDOM);
  const texts = [...told, ...objects.map(({ key, text }) => ({ where: `object ${key}`, text }))];
  const found = texts.flatMap(({ where, text }) =>
    secretsIn(text, random).map(({ line, what }) => `${where}:${line}: ${what}`),
  );
  return { files: texts.length, bytes, found: [...new Set(found)], secrets: random };
}

function filesUnder(target: string, isLeftOut: (folder: string) => boolean): string[] {
  try {
    const found = lstatSync(target);
    if (found.isFile()) return [target];
    if (!found.isDirectory()) return [];
    return readdirSync(target, { withFileTypes: true }).flatMap((entry) => {
      const file = path.join(target, entry.name);
      if (entry.isDirectory()) return isLeftOut(file) ? [] : filesUnder(file, isLeftOut);
      return entry.isFile() ? [file] : [];
    });
  } catch {
    // It went meanwhile, or is another user's: whoever removes it hears of that.
    return [];
  }
}

/** Without the zeros at its end, which etcd reserves; an archive as what is in it, such as a report. */
function read(file: string): Buffer | undefined {
  try {
    const content = readFileSync(file);
    let end = content.length;
    while (end > 0 && content[end - 1] === 0) end--;
    return unpacked(content.subarray(0, end), content);
  } catch {
    return undefined;
  }
}

const MOST_UNPACKED = 256 * 1024 * 1024;

function unpacked(trimmed: Buffer, whole: Buffer): Buffer {
  if (whole[0] !== 0x1f || whole[1] !== 0x8b) return trimmed;
  try {
    return gunzipSync(whole, { maxOutputLength: MOST_UNPACKED });
  } catch {
    // A test broke it, or filled it.
    return trimmed;
  }
}

/** ELF: a program has such texts to compare with. */
function isProgram(content: Buffer): boolean {
  return content.subarray(0, 4).toString("latin1") === "\x7fELF";
}
