/**
 * How the rows are written of what is reported in the status of other objects than the cluster: which reason it has, and
 * how its parameters become a sentence. The voice is that of message.ts. Who decides gives code and parameters; the words
 * are made when the status is written.
 */
interface VerdictRow<P, Reason extends string> {
  readonly reason: Reason;
  readonly say: (params: P) => string;
  readonly example: NoInfer<P>;
}

interface AnyRow {
  readonly reason: string;
  readonly say: (params: never) => string;
}

type ParamsIn<Row extends AnyRow> = Parameters<Row["say"]> extends [infer P] ? P : Empty;
/** Of a row whose sentence needs none. */
type Empty = Readonly<Record<never, never>>;

/** As data, with its words on demand. */
export interface Verdict<Reason extends string> {
  readonly reason: Reason;
  readonly code: string;
  readonly params: object;
  readonly message: string;
}

/** For rows whose reasons are of one list. */
export function rowsFor<Reasons extends string>() {
  return <P extends object, Reason extends Reasons>(
    reason: Reason,
    row: Omit<VerdictRow<P, Reason>, "reason">,
  ): VerdictRow<P, Reason> => ({ reason, ...row });
}

/** Verdicts by the codes of one table. */
export function verdictsOf<Table extends { readonly [Code in keyof Table]: AnyRow }>(table: Table) {
  return <Code extends keyof Table & string>(
    code: Code,
    params: ParamsIn<Table[Code]>,
  ): Verdict<Table[Code]["reason"]> => ({
    reason: table[code].reason,
    code,
    params: params as object,
    get message() {
      return table[code].say(params as never);
    },
  });
}
