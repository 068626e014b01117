/** Short ways to write what a rule returns, and the objects that decide() makes of it. */
import type {
  Act,
  Action,
  Hold,
  HoldReason,
  Outcome,
  RecordChange,
  RecordPurpose,
  Step,
  StepClass,
  StepCode,
  Wait,
  WaitCode,
} from "../action.ts";
import type { Approvable } from "../messages/approvals.ts";
import {
  approvalIn,
  needsPerson,
  reasonOf,
  remedyOf,
  sameMessage,
  sentenceOf,
  type Message,
  type ParamsOf,
} from "../messages/table.ts";
import { renderedFor } from "../template/template.ts";
import type { MemberView } from "../view.ts";

type Classes = Wait["classes"];

/** When to look again, and whether it is told although it keeps nothing back. */
type More = Partial<Pick<Wait, "until" | "unfinished">>;

export function act<Code extends StepCode>(
  stepClass: StepClass,
  code: Code,
  params: ParamsOf<Code>,
  action: Action,
): Outcome {
  return { act: new StepOf(stepClass, action, code, params as object) };
}

export function hold<Code extends WaitCode>(
  classes: Classes,
  code: Code,
  params: ParamsOf<Code>,
  more?: More,
): Outcome {
  return { hold: new WaitOf(classes, code, params as object, more) };
}

/** A wait whose message was made elsewhere. */
export function holdFor(classes: Classes, { code, params }: Message<WaitCode>, more?: More): Outcome {
  return { hold: new WaitOf(classes, code, params, more) };
}

export function holdOf(rule: string, wait: Wait): Hold {
  return new HoldOf(rule, wait);
}

export function actOf(rule: string, step: Step): Act {
  return new ActOf(rule, step);
}

/** The same waits, whatever time has passed meanwhile. */
export function sameHolds(a: readonly Hold[], b: readonly Hold[]): boolean {
  return (
    a.length === b.length &&
    a.every((hold, index) => {
      const other = b[index];
      return other?.rule === hold.rule && sameMessage(hold as Message<WaitCode>, other as Message<WaitCode>);
    })
  );
}

/** A write of one member's record, under the version that was read: the record is the lock (H10). */
export function update(member: MemberView, purpose: RecordPurpose, asked: RecordChange): Action {
  const { template } = asked;
  const change = template ? { ...asked, template: renderedFor(member.record.template, template) } : asked;
  return {
    kind: "UpdateMember",
    member: member.name,
    resourceVersion: member.record.resourceVersion,
    change,
    purpose,
  };
}

/** Data with the words on demand: decide() runs far more often than anybody reads. */
class WaitOf implements Wait {
  readonly classes: Classes;
  readonly reason: HoldReason;
  readonly code: WaitCode;
  readonly params: object;
  readonly until?: number;
  readonly unfinished?: boolean;

  constructor(classes: Classes, code: WaitCode, params: object, { until, unfinished }: More = {}) {
    this.classes = classes;
    this.reason = reasonOf(code);
    this.code = code;
    this.params = params;
    if (until !== undefined) this.until = until;
    if (unfinished !== undefined) this.unfinished = unfinished;
  }

  get needsPerson(): boolean {
    return needsPerson(this.code);
  }

  get message(): string {
    return sentenceOf(this as Message);
  }

  get next(): string | undefined {
    return remedyOf(this as Message<WaitCode>);
  }

  get approval(): Approvable | undefined {
    return approvalIn(this as Message<WaitCode>);
  }
}

class HoldOf extends WaitOf implements Hold {
  readonly rule: string;

  constructor(rule: string, wait: Wait) {
    super(wait.classes, wait.code, wait.params, wait);
    this.rule = rule;
  }
}

class StepOf implements Step {
  readonly class: StepClass;
  readonly action: Action;
  readonly code: StepCode;
  readonly params: object;

  constructor(stepClass: StepClass, action: Action, code: StepCode, params: object) {
    this.class = stepClass;
    this.action = action;
    this.code = code;
    this.params = params;
  }

  get message(): string {
    return sentenceOf(this as Message);
  }
}

class ActOf extends StepOf implements Act {
  readonly rule: string;

  constructor(rule: string, step: Step) {
    super(step.class, step.action, step.code, step.params);
    this.rule = rule;
  }
}
