// Common interface of the drivers of official MCP clients: connect, log in as a user, list the tools, call echo.

/**
 * Runs a client. Rejects with a ClientFailure.
 * @param agent visits the login page; by default the one for the demo's identity provider.
 */
export type McpClient = (url: string, user: string, agent?: UserAgent) => Promise<ClientRun>

/** Follows an authorization URL to the redirect URI. Resolves to the redirect URI with its parameters. */
export type UserAgent = (authorization: URL) => Promise<URL>

export interface ClientRun {
  readonly tools: readonly string[]
  /** The text of the echo tool's answer. */
  readonly echo: string
  /** The answers to further calls, if the driver makes any. */
  readonly more?: readonly string[]
  /** "METHOD path status" of each call to the gateway, in order. */
  readonly calls: readonly string[]
}

/** The client failed; message is the client's own text. */
export class ClientFailure extends Error {
  constructor(
    message: string,
    readonly calls: readonly string[],
  ) {
    super(message)
  }
}

/** Returns a fetch that records the calls to one origin. */
export function recordingFetch(origin: string, calls: string[]): typeof fetch {
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input)
    const response = await fetch(input, init)
    if (url.origin === origin) {
      calls.push(`${init?.method ?? 'GET'} ${url.pathname} ${String(response.status)}`)
    }
    return response
  }
}

/** Adds the user who should log in to an authorization URL. */
export function asUser(authorization: URL, user: string): URL {
  const url = new URL(authorization)
  url.searchParams.set('login_hint', user)
  return url
}

export const REDIRECT_URI = 'http://127.0.0.1:39998/callback'

export const CLIENT_METADATA = {
  client_name: 'gatehouse tests',
  redirect_uris: [REDIRECT_URI],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
}

/** Returns the text of the first part of a tool's answer. */
export function firstText(content: unknown): string {
  const [part] = Array.isArray(content) ? (content as { text?: string }[]) : []
  return part?.text ?? ''
}
