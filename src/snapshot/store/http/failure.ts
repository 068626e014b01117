/** An answer of a store that is not a success, before it is told in words. */
export class HttpFailure extends Error {
  override name = "HttpFailure";
  readonly status: number;
  /** The store's own word for it, as `NoSuchKey`; empty where it gave none. */
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(`${code === "" ? `HTTP status ${status}` : code}: ${message}`.replace(/: $/, ""));
    this.status = status;
    this.code = code;
  }

  /** The same request may succeed a moment later. */
  get isTransient(): boolean {
    return (
      this.status === 429 || this.status === 408 || (this.status >= 500 && ![501, 507].includes(this.status))
    );
  }
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}
