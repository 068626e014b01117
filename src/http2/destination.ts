/** Where a connection through a proxy goes, and who the proxy takes us for. */

export interface Destination {
  readonly host: string;
  readonly port: number;
}

export interface ProxyLogin {
  readonly user: string;
  readonly password: string;
}
