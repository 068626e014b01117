/** What a record holds under a name that a person chose: one like `constructor` finds nothing of Object.prototype. */
export function own<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}
