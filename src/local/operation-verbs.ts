/** What people do with the EtcdOperations of a local cluster: create, list and delete them. The loop carries them out. */
import { etcdOperationSchema, type EtcdOperation } from "../api/etcd-operation.ts";
import { resourceParser } from "../api/parse-resource.ts";
import { fieldError, InvalidInput } from "./change.ts";
import { Refused } from "./refused.ts";
import type { Subject } from "./verb.ts";
import { noneNamed, requireOurs } from "./resource-verbs.ts";

const parse = resourceParser("EtcdOperation", etcdOperationSchema);

/** Without the dots that other resources may have. */
const NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

export const operationVerbs = {
  /** Stores an EtcdOperation; `metadata.generateName` instead of `name` gives it a name of its own. */
  async createOperation(subject: Subject, manifest: unknown): Promise<EtcdOperation> {
    const parsed = parse(named(subject, manifest));
    if (!parsed.ok) throw new InvalidInput(parsed.errors);
    const { metadata, spec } = parsed.value;
    if (!NAME.test(metadata.name))
      throw fieldError(
        "metadata.name",
        "use at most 63 lower-case letters, digits and dashes, starting and ending with a letter or digit",
      );
    await requireOurs(subject, { metadata, spec });
    const created = await subject.platform.operations.create(metadata.name, spec);
    if (!created)
      throw new Refused(
        `the operation ${metadata.name} already exists: delete it first, or choose another name`,
      );
    subject.wake();
    return created;
  },

  async listOperations({ platform }: Subject): Promise<readonly EtcdOperation[]> {
    return (await platform.operations.list()).operations;
  },

  /** Cancels one that is pending, stops one that runs after the step under way, forgets one that has finished. */
  async deleteOperation(subject: Subject, name: string): Promise<EtcdOperation> {
    const { operations } = await subject.platform.operations.list();
    const found = operations.find(({ metadata }) => metadata.name === name);
    if (!found || !(await subject.platform.operations.remove(name))) {
      const names = operations.map(({ metadata }) => metadata.name);
      throw noneNamed("EtcdOperation", name, names);
    }
    subject.wake();
    return found;
  },
};

function named({ platform }: Subject, manifest: unknown): unknown {
  if (typeof manifest !== "object" || manifest === null) return manifest;
  const { metadata } = manifest as { metadata?: { name?: unknown; generateName?: unknown } };
  if (metadata?.name !== undefined || typeof metadata?.generateName !== "string") return manifest;
  const name = platform.operations.generateName(metadata.generateName);
  return { ...manifest, metadata: { ...metadata, name } };
}
