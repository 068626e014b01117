/**
 * Generates the TypeScript of etcd's messages (`src/etcd/proto/*_pb.ts`) from our own `.proto` files.
 * The result is committed, so that neither a build nor a user needs the compiler; the check compares.
 */
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const source = "src/etcd/proto";

export const etcdProto = {
  name: "etcd messages (src/etcd/proto)",
  /** Paths from the repository's root, and what each file should hold. */
  async generate(): Promise<Map<string, string>> {
    const out = await mkdtemp(join(tmpdir(), "quorate-proto-"));
    try {
      const bin = join(root, "node_modules", ".bin");
      const template = {
        version: "v2",
        inputs: [{ directory: source }],
        plugins: [
          {
            local: join(bin, "protoc-gen-es"),
            out,
            opt: ["target=ts", "import_extension=ts", "erasable_syntax=true"],
          },
        ],
      };
      await promisify(execFile)(join(bin, "buf"), ["generate", "--template", JSON.stringify(template)], {
        cwd: root,
        env: { ...process.env, PATH: `${bin}:${process.env["PATH"] ?? ""}` },
      });
      const files = new Map<string, string>();
      for (const file of (await readdir(out)).toSorted())
        files.set(`${source}/${file}`, await readFile(join(out, file), "utf8"));
      return files;
    } finally {
      await rm(out, { recursive: true, force: true });
    }
  },
};
