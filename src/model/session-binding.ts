// Types for sessions of MCP that are bound to their callers (mcp.bindSession).

/** What the sessions of one policy are bound to, and the keys that seal them. */
export interface SessionBinding {
  /** NAMESPACE/NAME of the ProxyPolicy. */
  readonly policy: string
  /** Issuer of the callers' tokens. */
  readonly issuer: string
  /** 32 bytes each, base64url: the first seals, all open. At least one. Never logged or dumped. */
  readonly sealingKeys: readonly string[]
}
