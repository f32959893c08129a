// What every driver of an official MCP client does and reports: connect, log in as a user, list the tools, call echo.

/** Rejects with a ClientFailure. agent: goes to the login page; absent: the one that our own identity provider needs. */
export type McpClient = (url: string, user: string, agent?: UserAgent) => Promise<ClientRun>

/** Follows an authorization URL to the redirect URI, whose URL is the result. */
export type UserAgent = (authorization: URL) => Promise<URL>

export interface ClientRun {
  readonly tools: readonly string[]
  /** The text of the echo tool's answer. */
  readonly echo: string
  /** The texts of further calls, of a driver that makes any. */
  readonly more?: readonly string[]
  /** "METHOD path status" of each call to the gateway, in order. */
  readonly calls: readonly string[]
}

/** The client gave up; message is the client's own text. */
export class ClientFailure extends Error {
  constructor(
    message: string,
    readonly calls: readonly string[],
  ) {
    super(message)
  }
}

/** fetch that notes the calls to one origin. */
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

/** The authorization URL with the user who is to log in there. */
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

/** The text of the first part of a tool's answer. */
export function firstText(content: unknown): string {
  const [part] = Array.isArray(content) ? (content as { text?: string }[]) : []
  return part?.text ?? ''
}
